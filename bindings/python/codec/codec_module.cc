// SPDX-License-Identifier: Apache-2.0
// The extension loomix._codec: images to pixels and back, with neither engine nor arrays behind it. Pixels are BGR, as
// OpenCV has them.
#include <Python.h>

#include <span>
#include <vector>

#include "base/error.h"
#include "bindings/python/core/errors.h"
#include "io/image/codec.h"

namespace loomix::python {
namespace {

class Buffer {
 public:
  explicit Buffer(PyObject* object) { checked(PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE)); }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  std::span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

// RGB to BGR and back; `out` may be `in`. Channels beyond `kept` are left out.
void swap_red_and_blue(const uint8_t* in, uint8_t* out, size_t pixels, int channels, int kept) {
  for (size_t i = 0; i < pixels; ++i, in += channels, out += kept) {
    const uint8_t red = in[0];
    const uint8_t blue = in[2];
    const uint8_t alpha = kept == 4 ? in[3] : 0;
    out[1] = in[1];
    out[0] = blue;
    out[2] = red;
    if (kept == 4) out[3] = alpha;
  }
}

// decode(file, color) -> (height, width, channels, bytearray); colors are OpenCV's: -1 as in the file, 0 grey, 1 BGR.
PyObject* decode(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* file;
    int color;
    if (!PyArg_ParseTuple(arguments, "Oi", &file, &color)) throw PythonError{};
    LOOMIX_CHECK(-1 <= color && color <= 1, ValueError,
                 "[recordio.unpack_img] iscolor is {}; expected -1 (as in the file), 0 (grey) or 1 (colour).",
                 color);
    const Buffer buffer(file);
    const io::DecodeOptions options{.color = static_cast<io::Color>(color), .apply_orientation = color >= 0};
    io::Image image;
    io::decode_image(buffer.bytes(), image, options);
    if (image.channels() >= 3) {
      swap_red_and_blue(image.data(), image.data(), image.bytes() / static_cast<size_t>(image.channels()),
                        image.channels(), image.channels());
    }
    const Owned pixels(checked(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(image.data()),
                                                             static_cast<Py_ssize_t>(image.bytes()))));
    return checked(Py_BuildValue("(iiiO)", image.height(), image.width(), image.channels(), pixels.get()));
  });
}

// encode(pixels, height, width, channels, is_png, quality) -> bytes
PyObject* encode(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* object;
    int height, width, channels, is_png, quality;
    if (!PyArg_ParseTuple(arguments, "Oiiipi", &object, &height, &width, &channels, &is_png, &quality)) {
      throw PythonError{};
    }
    const Buffer buffer(object);
    const size_t pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
    LOOMIX_CHECK(height > 0 && width > 0 && (channels == 1 || channels == 3 || channels == 4) &&
                     buffer.bytes().size() == pixels * static_cast<size_t>(channels),
                 ValueError,
                 "[recordio.pack_img] an image of shape ({}, {}, {}) cannot be encoded; expected height and "
                 "width, and "
                 "1, 3 or 4 channels.",
                 height, width, channels);
    const int kept = channels == 4 && !is_png ? 3 : channels;  // JPEG has no transparency
    std::vector<uint8_t> rgb;
    const uint8_t* data = buffer.bytes().data();
    if (channels >= 3) {
      rgb.resize(pixels * static_cast<size_t>(kept));
      swap_red_and_blue(data, rgb.data(), pixels, channels, kept);
      data = rgb.data();
    }
    const io::ImageView view{data, height, width, kept, ptrdiff_t{width} * kept};
    const std::vector<uint8_t> file = is_png ? io::encode_png(view, quality) : io::encode_jpeg(view, quality);
    return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(file.data()),
                                             static_cast<Py_ssize_t>(file.size())));
  });
}

PyMethodDef functions[] = {
    {"decode", decode, METH_VARARGS, nullptr},
    {"encode", encode, METH_VARARGS, nullptr},
    {},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "loomix._codec",
                          "Encoded images.",
                          0,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace loomix::python

PyMODINIT_FUNC PyInit__codec() { return PyModule_Create(&loomix::python::definition); }
