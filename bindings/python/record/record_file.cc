// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/record/record_file.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/record/without_gil.h"
#include "io/record/reader.h"
#include "io/record/writer.h"

namespace loomix::python {
namespace {

// Counts the forks that lead to this process: a file opened before the last one shares its position in the system's
// tables, or its buffer, with the parent.
std::atomic<int> forks{0};

struct State {
  std::mutex busy;
  std::string uri;
  std::shared_ptr<io::ByteSource> source;  // that `reader` reads
  std::unique_ptr<io::RecordReader> reader;
  std::unique_ptr<io::RecordWriter> writer;
  int forks_at_open = forks;
};

struct RecordFile {
  PyObject_HEAD State* state;
};

State& state_of(PyObject* self) { return *reinterpret_cast<RecordFile*>(self)->state; }

bool forked(const State& state) { return state.forks_at_open != forks.load(std::memory_order_relaxed); }

// Forgets, without writing, what the parent process opened. The lock goes, too: a thread that the child does not have
// may hold it.
State& state_of_this_process(PyObject* self) {
  State*& state = reinterpret_cast<RecordFile*>(self)->state;
  if (forked(*state)) {
    if (state->writer != nullptr) state->writer->abandon();
    delete state;
    state = new State;
  }
  return *state;
}

// Holds the file against other Python threads. The GIL is given up only to wait.
class Busy {
 public:
  explicit Busy(State& state) : lock_(state.busy, std::defer_lock) {
    if (forked(state) || lock_.try_lock()) return;
    PyThreadState* const thread = PyEval_SaveThread();
    lock_.lock();
    PyEval_RestoreThread(thread);
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

// A source that gives the GIL up while it reads.
class QuietSource final : public io::ByteSource {
 public:
  explicit QuietSource(std::shared_ptr<io::ByteSource> source)
      : ByteSource(source->name()), source_(std::move(source)) {}
  size_t read_at(uint64_t offset, std::span<uint8_t> out, size_t least) override {
    const WithoutGil quiet;
    return source_->read_at(offset, out, least);
  }
  std::optional<uint64_t> size() const override { return source_->size(); }
  bool seekable() const override { return source_->seekable(); }
  size_t read_ahead() const override { return source_->read_ahead(); }
  size_t least_read() const override { return source_->least_read(); }

 private:
  std::shared_ptr<io::ByteSource> source_;
};

io::RecordReader& reader_of(State& state, bool allow_forked = false) {
  LOOMIX_CHECK(state.reader != nullptr, StateError, "[recordio] the file is {}.",
               state.writer != nullptr ? "open for writing, not for reading" : "closed");
  LOOMIX_CHECK(allow_forked || !forked(state), StateError,
               "[recordio] {} was opened before this process was forked; call reset() or open it again.",
               state.reader->name());
  return *state.reader;
}

io::RecordWriter& writer_of(State& state) {
  LOOMIX_CHECK(state.writer != nullptr, StateError, "[recordio] the file is {}.",
               state.reader != nullptr ? "open for reading, not for writing" : "closed");
  LOOMIX_CHECK(
      !forked(state), StateError,
      "[recordio] {} was opened for writing before this process was forked; only the process that opened it "
      "may write.",
      state.writer->name());
  return *state.writer;
}

PyObject* to_bytes(io::Bytes bytes) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                           static_cast<Py_ssize_t>(bytes.size())));
}

uint64_t to_offset(PyObject* number) {
  const uint64_t offset = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) throw PythonError{};
  return offset;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* self = checked(type->tp_alloc(type, 0));
    reinterpret_cast<RecordFile*>(self)->state = new State;
    return self;
  });
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (PyObject_CallFinalizerFromDealloc(self) < 0) return;
  if (reinterpret_cast<RecordFile*>(self)->state != nullptr) {
    State& state = state_of_this_process(self);
    try {
      if (state.writer != nullptr) state.writer->close();
    } catch (...) {
      set_python_error();
      PyErr_WriteUnraisable(self);
    }
    delete &state;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

// Opening again what is open begins at the first record; a file that is still the same stays open, and mapped.
PyObject* open_reader(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    const char* uri;
    int skip;
    if (!PyArg_ParseTuple(arguments, "sp", &uri, &skip)) throw PythonError{};
    State& state = state_of_this_process(self);
    const Busy busy(state);
    state.reader.reset();
    if (state.source == nullptr || state.uri != uri || !state.source->is_current()) {
      state.source.reset();
      state.uri = uri;
      const WithoutGil quiet;
      state.source = io::open_source(state.uri, {}, io::Order::random);
    }
    state.reader = std::make_unique<io::RecordReader>(std::make_unique<QuietSource>(state.source),
                                                      skip ? io::OnDamage::skip : io::OnDamage::raise);
    state.writer.reset();
    return Py_NewRef(Py_None);
  });
}

PyObject* open_writer(PyObject* self, PyObject* uri) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(uri);
    if (name == nullptr) throw PythonError{};
    State& state = state_of_this_process(self);
    const Busy busy(state);
    state.writer = std::make_unique<io::RecordWriter>(name);
    state.reader.reset();
    state.source.reset();
    return Py_NewRef(Py_None);
  });
}

PyObject* close(PyObject* self, PyObject*) {
  return guarded([&] {
    State& state = state_of_this_process(self);
    const Busy busy(state);
    state.reader.reset();
    state.source.reset();
    if (state.writer != nullptr) {
      const std::unique_ptr<io::RecordWriter> writer = std::move(state.writer);
      const WithoutGil quiet;
      writer->close();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* read(PyObject* self, PyObject*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    const auto record = reader_of(state).next();
    return record ? to_bytes(*record) : Py_NewRef(Py_None);
  });
}

// The record at an offset, as one step for other threads. A copy of the file in a forked process is opened again first.
PyObject* read_at(PyObject* self, PyObject* offset) {
  return guarded([&] {
    if (const State& state = state_of(self); state.reader != nullptr && forked(state)) {
      const Owned done(checked(PyObject_CallMethod(self, "reset", nullptr)));
    }
    State& state = state_of(self);  // a new one, if the file was opened again
    const Busy busy(state);
    return to_bytes(reader_of(state).read_at(to_offset(offset)));
  });
}

// read_idx(key) of MXIndexedRecordIO, whose attribute `idx` maps keys to offsets.
PyObject* read_key(PyObject* self, PyObject* key) {
  return guarded([&] {
    static PyObject* const idx = checked(PyUnicode_InternFromString("idx"));
    const Owned offsets(checked(PyObject_GetAttr(self, idx)));
    Owned offset;
    if (PyDict_CheckExact(offsets.get())) {
      offset = Owned::borrow(PyDict_GetItemWithError(offsets.get(), key));
      if (!offset && PyErr_Occurred()) throw PythonError{};
    }
    if (!offset) offset = Owned(checked(PyObject_CallMethod(self, "_offset_of", "O", key)));
    return read_at(self, offset.get());
  });
}

PyObject* seek(PyObject* self, PyObject* offset) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    reader_of(state).seek(to_offset(offset));
    return Py_NewRef(Py_None);
  });
}

PyObject* tell(PyObject* self, PyObject*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    return PyLong_FromUnsignedLongLong(state.reader != nullptr ? reader_of(state).tell()
                                                               : writer_of(state).tell());
  });
}

class Buffer {
 public:
  explicit Buffer(PyObject* object) { checked(PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE)); }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  io::Bytes bytes() const { return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)}; }

 private:
  Py_buffer view_;
};

uint64_t append(PyObject* self, PyObject* record) {
  const Buffer buffer(record);
  State& state = state_of(self);
  const Busy busy(state);
  io::RecordWriter& writer = writer_of(state);
  const uint64_t offset = writer.tell();
  if (writer.fits(buffer.bytes().size())) {
    writer.write(buffer.bytes());
  } else {
    const WithoutGil quiet;
    writer.write(buffer.bytes());
  }
  return offset;
}

PyObject* write(PyObject* self, PyObject* record) {
  return guarded([&] {
    append(self, record);
    return Py_NewRef(Py_None);
  });
}

PyObject* append_record(PyObject* self, PyObject* record) {
  return guarded([&] { return checked(PyLong_FromUnsignedLongLong(append(self, record))); });
}

PyObject* flush(PyObject* self, PyObject*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    io::RecordWriter& writer = writer_of(state);
    const WithoutGil quiet;
    writer.flush();
    return Py_NewRef(Py_None);
  });
}

PyObject* is_forked(PyObject* self, PyObject*) { return PyBool_FromLong(forked(state_of(self))); }

PyObject* offset_of_last(PyObject* self, void*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    return checked(PyLong_FromUnsignedLongLong(reader_of(state, true).offset()));
  });
}

PyObject* damages(PyObject* self, void*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    Owned list(checked(PyList_New(0)));
    for (const io::Damage& damage : reader_of(state, true).damages()) {
      const Owned item(
          checked(Py_BuildValue("(KKs)", static_cast<unsigned long long>(damage.offset),
                                static_cast<unsigned long long>(damage.bytes), damage.reason.c_str())));
      checked(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

PyObject* damage_count(PyObject* self, void*) {
  return guarded([&] {
    State& state = state_of(self);
    const Busy busy(state);
    return checked(PyLong_FromUnsignedLongLong(reader_of(state, true).damage_count()));
  });
}

// clang-format off
PyMethodDef methods[] = {
    {"read", read, METH_NOARGS, "Returns the next record as bytes, or None after the last."},
    {"write", write, METH_O, "write($self, buf, /)\n--\n\nWrites a bytes-like object as a record."},
    {"flush", flush, METH_NOARGS, "Hands everything that was written to the system."},
    {"_open_reader", open_reader, METH_VARARGS, nullptr},
    {"_open_writer", open_writer, METH_O, nullptr},
    {"_close", close, METH_NOARGS, nullptr},
    {"_read_at", read_at, METH_O, nullptr},
    {"_append", append_record, METH_O, nullptr},
    {"_seek", seek, METH_O, nullptr},
    {"_tell", tell, METH_NOARGS, nullptr},
    {"_forked", is_forked, METH_NOARGS, nullptr},
    {},
};
PyMethodDef read_key_method = {"read_idx", read_key, METH_O,
                               "read_idx($self, idx, /)\n--\n\nReturns the record of a key as bytes."};
PyGetSetDef properties[] = {
    {"offset", offset_of_last, nullptr, "Where in the file the record that was read last begins.", nullptr},
    {"damages", damages, nullptr,
     "What is no whole record, as far as was read: a list of (offset, bytes, reason); the first 1000.", nullptr},
    {"damage_count", damage_count, nullptr, "The number of all damages so far.", nullptr},
    {},
};
// clang-format on

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("A record file, open for reading or for writing.")},
    {},
};
PyType_Spec spec = {"loomix._record.RecordFile", sizeof(RecordFile), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void add_record_file(PyObject* module) {
  static std::once_flag once;
  std::call_once(
      once, [] { pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }); });
  const Owned type(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "RecordFile", type.get()));
  const Owned method(
      checked(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.get()), &read_key_method)));
  checked(PyModule_AddObjectRef(module, "read_idx", method.get()));
}

}  // namespace loomix::python
