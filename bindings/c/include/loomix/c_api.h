/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, operators, graphs, training and data, for C and for whatever calls C.
 *
 * Functions return 0, or -1 after an error that LoomixGetLastError() explains; what `out` arguments hold is unchanged then. No
 * C++ exception leaves them.
 *
 * What is made is known by a handle, which LoomixFree() ends. Handles are numbers that are never given twice: one that is null,
 * was freed or is of another kind is an error. What a handle stood for lives on as long as something else needs it: a
 * symbol its nodes, an executor its arrays.
 *
 * Operators run in the background; reading waits. An error of the background is told by the call that reads.
 *
 * Texts and lists that a function gives belong to the library. They are valid until the same thread calls a function of this
 * header again. Handles in lists are the caller's, to be freed like others.
 *
 * Any thread may call. Two threads may use one handle at the same time, unless one of them changes what it stands for
 * (LoomixAutogradMark, LoomixSymbolSetAttribute, or as an output of LoomixOperatorInvoke). Calls on one executor or iterator
 * run one after the other.
 *
 * A program that ends finishes what it has begun, if its main thread has called a function; else call LoomixWaitAll() before. */
#ifndef LOOMIX_C_API_H_
#define LOOMIX_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct LoomixArrayObject* LoomixArray;
typedef struct LoomixSymbolObject* LoomixSymbol;
typedef struct LoomixExecutorObject* LoomixExecutor;
typedef struct LoomixStoreObject* LoomixStore;
typedef struct LoomixIteratorObject* LoomixIterator;
typedef struct LoomixOperatorObject* LoomixOperator;
typedef struct LoomixGraphObject* LoomixGraph;
typedef struct LoomixOptimizerObject* LoomixOptimizer;

/* type: 1 CPU, 2 GPU, 3 page-locked memory. */
typedef struct LoomixDevice {
  int32_t type;
  int32_t id;
} LoomixDevice;

/* Types of elements, by MXNet's numbers. */
enum {
  LOOMIX_FLOAT32 = 0,
  LOOMIX_FLOAT64 = 1,
  LOOMIX_FLOAT16 = 2,
  LOOMIX_UINT8 = 3,
  LOOMIX_INT32 = 4,
  LOOMIX_INT8 = 5,
  LOOMIX_INT64 = 6,
  LOOMIX_BOOL = 7,
  LOOMIX_BFLOAT16 = 12
};

/* What becomes of a result: nothing, it replaces what is there, or it is added. */
enum { LOOMIX_NULL = 0, LOOMIX_WRITE = 1, LOOMIX_WRITE_IN_PLACE = 2, LOOMIX_ADD = 3 };

enum { LOOMIX_MAX_AXES = 32 };

/* An unknown size is -1, an unknown number of axes too. */
typedef struct LoomixShape {
  int32_t axes;
  int64_t sizes[LOOMIX_MAX_AXES];
} LoomixShape;

typedef struct LoomixArrayInfo {
  LoomixShape shape;
  int32_t type;
  int32_t storage; /* 0 dense, 1 row_sparse, 2 csr */
  LoomixDevice device;
} LoomixArrayInfo;

/* Names and values of parameters, or of attributes. */
typedef struct LoomixPairs {
  size_t count;
  const char* const* names;
  const char* const* values;
} LoomixPairs;

/* ---- the process ---------------------------------------------------------------------------------------------------------- */

/* Why the last call of this thread that failed did. Valid until the thread's next call that fails. */
const char* LoomixGetLastError(void);
/* 10000 * major + 100 * minor + patch; and how many GPUs this library can use. Either may be null. */
int LoomixGetInfo(int* version, int* gpus);
/* Ends a handle of any kind. Freeing a store waits until other nodes were told goodbye. */
int LoomixFree(void* handle);
/* Waits until all that was pushed is done, and tells the first error that nobody was told yet. */
int LoomixWaitAll(void);
/* Seeds the random generators of all devices. */
int LoomixSeed(uint64_t seed);
/* The names of what there is, in alphabetical order: "operators" (with aliases), "iterators". */
int LoomixListNames(const char* kind, size_t* count, const char* const** names);

/* ---- arrays --------------------------------------------------------------------------------------------------------------- */

/* An array of zeros. */
int LoomixArrayCreate(const LoomixShape* shape, int type, LoomixDevice device, LoomixArray* out);
/* An array over memory of the caller, without a copy. `release` (it may be null) is called with `context` when nothing uses
 * the memory any more, on any thread; not if the call fails. */
int LoomixArrayFromMemory(void* data, size_t bytes, const LoomixShape* shape, int type,
                          void (*release)(void* context), void* context, LoomixArray* out);
/* Waits if the shape follows from data that is not computed yet. */
int LoomixArrayGetInfo(LoomixArray array, LoomixArrayInfo* info);
/* Waits, and gives the elements themselves, row after row. The array is dense and not on a GPU. The memory is valid as
 * long as the array is; whoever changes it says so to nobody, so nothing else may use the array at that time. */
int LoomixArrayGetData(LoomixArray array, void** data);
/* The whole array, at least `bytes` of elements; both are complete when the call returns. Dense arrays. */
int LoomixArrayCopyFromHost(LoomixArray array, const void* data, size_t bytes);
int LoomixArrayCopyToHost(LoomixArray array, void* data, size_t bytes);
/* Pushes `to = from`; types, devices and storage may differ, shapes not. */
int LoomixArrayCopy(LoomixArray from, LoomixArray to);
/* Waits until the array can be read, and tells an error of what should have written it. */
int LoomixArrayWait(LoomixArray array);
/* Rows [begin, end) of the first axis, and the same elements in another shape (one size may be -1): they share memory with
 * the array. */
int LoomixArraySlice(LoomixArray array, int64_t begin, int64_t end, LoomixArray* out);
int LoomixArrayReshape(LoomixArray array, const LoomixShape* shape, LoomixArray* out);
/* DLPack: a `DLManagedTensor*` of the array's memory, for another library to take over, and an array of one, which the array
 * takes over. Memory is shared, but for tensors with gaps between their elements. The array is dense and not on a GPU. */
int LoomixArrayToDLPack(LoomixArray array, void** tensor);
int LoomixArrayFromDLPack(void* tensor, LoomixArray* out);
/* The array that the gradient of a marked array goes to. */
int LoomixArrayGetGradient(LoomixArray array, LoomixArray* out);
/* Array files (`.params`, `.nd`). `names` is null for a list without names. */
int LoomixArraySave(const char* path, size_t count, const LoomixArray* arrays, const char* const* names);
/* `names` has `count` entries, or is null if the file has no names. An array that the file has no value of is null. */
int LoomixArrayLoad(const char* path, size_t* count, const LoomixArray** arrays, const char* const** names);
int LoomixArrayLoadFromMemory(const void* data, size_t bytes, size_t* count, const LoomixArray** arrays,
                              const char* const** names);

/* ---- operators ------------------------------------------------------------------------------------------------------------ */

/* All are valid until the thread's next call. */
typedef struct LoomixOperatorInfo {
  const char* name; /* without aliases */
  const char* description;
  size_t inputs;
  const char* const* input_names;
  const char*
      count_parameter; /* of operators with any number of inputs: the parameter that says how many; else "" */
  size_t parameters;
  const char* const* parameter_names;
  const char* const*
      parameter_types; /* as MXNet's documentation has them: "int, required", "boolean, optional, default=0" */
  const char* const* parameter_descriptions;
} LoomixOperatorInfo;

int LoomixOperatorDescribe(const char* name, LoomixOperatorInfo* out);
/* Pushes an operator. Parameters are texts as in MXNet's JSON: "(3, 3)", "relu", "True". An operator without inputs runs on
 * the parameter `ctx`, or on the CPU.
 *   outputs   in: null to have new arrays made; else *count arrays to write to, as many as the operator has outputs
 *             out: new arrays, in a list of the library's, or what was given */
int LoomixOperatorInvoke(const char* name, size_t inputs, const LoomixArray* arrays,
                         const LoomixPairs* parameters, size_t* count, const LoomixArray** outputs);

/* The same in two steps: parameters are read once. `inputs` counts where the operator takes any number of them. */
int LoomixOperatorPrepare(const char* name, size_t inputs, const LoomixPairs* parameters,
                          LoomixOperator* out);
int LoomixOperatorRun(LoomixOperator prepared, size_t inputs, const LoomixArray* arrays, size_t* count,
                      const LoomixArray** outputs);

/* ---- symbols -------------------------------------------------------------------------------------------------------------- */

/* Inputs of an operator or a symbol. `names` is null if they are in order. */
typedef struct LoomixSymbolInputs {
  size_t count;
  const char* const* names;
  const LoomixSymbol* symbols;
} LoomixSymbolInputs;

/* `attributes` may be null, here and below. */
int LoomixSymbolVariable(const char* name, const LoomixPairs* attributes, LoomixSymbol* out);
/* An operator on other symbols. Inputs that are missing become variables `NAME_INPUT`. With a null or empty name, one is made
 * of the operator's name and a number. */
int LoomixSymbolCreate(const char* operator_name, const LoomixPairs* attributes,
                       const LoomixSymbolInputs* inputs, const char* name, LoomixSymbol* out);
/* A copy in which variables are replaced. Without inputs, a copy. `name` renames the node, if it is not null. */
int LoomixSymbolCompose(LoomixSymbol symbol, const LoomixSymbolInputs* inputs, const char* name,
                        LoomixSymbol* out);
int LoomixSymbolGroup(size_t count, const LoomixSymbol* symbols, LoomixSymbol* out);
int LoomixSymbolFromJson(const char* json, LoomixSymbol* out);
int LoomixSymbolToJson(LoomixSymbol symbol, const char** json);
/* Names: "arguments", "outputs", "auxiliary_states", or "inputs", which are arguments and auxiliary states in one order; or
 * "name", which is one, and none for a group. */
int LoomixSymbolList(LoomixSymbol symbol, const char* kind, size_t* count, const char* const** names);
int LoomixSymbolGetOutput(LoomixSymbol symbol, size_t index, LoomixSymbol* out);
/* All that is computed on the way, as outputs. */
int LoomixSymbolGetInternals(LoomixSymbol symbol, LoomixSymbol* out);
int LoomixSymbolSetAttribute(LoomixSymbol symbol, const char* name, const char* value);
/* Of the symbol's one node; or of all nodes, as NODE$NAME. */
int LoomixSymbolListAttributes(LoomixSymbol symbol, int of_all_nodes, LoomixPairs* out);

/* One a name in LoomixSymbolList's order. What cannot be found out is unknown; `complete` says whether all is known. */
typedef struct LoomixInferredShapes {
  size_t arguments, outputs, auxiliary_states;
  const LoomixShape *argument_shapes, *output_shapes, *auxiliary_shapes;
  int complete;
} LoomixInferredShapes;
typedef struct LoomixInferredTypes {
  size_t arguments, outputs, auxiliary_states;
  const int32_t *argument_types, *output_types, *auxiliary_types; /* -1: unknown */
  int complete;
} LoomixInferredTypes;

/* From the shapes, or types, of some arguments. */
int LoomixSymbolInferShape(LoomixSymbol symbol, size_t count, const char* const* names,
                           const LoomixShape* shapes, LoomixInferredShapes* out);
int LoomixSymbolInferType(LoomixSymbol symbol, size_t count, const char* const* names, const int32_t* types,
                          LoomixInferredTypes* out);

/* ---- executors ------------------------------------------------------------------------------------------------------------ */

/* What a symbol is bound to, in LoomixSymbolList's order. A gradient that is null is not computed; `gradients` and `requests`
 * may be null as a whole: none, and LOOMIX_WRITE for all that have one. `shared` may be null, or an executor whose planned
 * memory is used, too. */
typedef struct LoomixBinding {
  size_t arguments, auxiliary_states;
  const LoomixArray* argument_arrays;
  const LoomixArray* gradients;
  const int32_t* requests;
  const LoomixArray* auxiliary_arrays;
  LoomixExecutor shared;
} LoomixBinding;

int LoomixExecutorBind(LoomixSymbol symbol, LoomixDevice device, const LoomixBinding* binding,
                       LoomixExecutor* out);
/* Makes the arrays, from the shapes of some arguments. `types` may be null: float32. `requests` is one an argument, or null:
 * LOOMIX_WRITE for all. */
int LoomixExecutorSimpleBind(LoomixSymbol symbol, LoomixDevice device, size_t count, const char* const* names,
                             const LoomixShape* shapes, const int32_t* types, const int32_t* requests,
                             LoomixExecutor* out);
/* An executor for other shapes, which shares memory with this one. */
int LoomixExecutorReshape(LoomixExecutor executor, size_t count, const char* const* names,
                          const LoomixShape* shapes, LoomixExecutor* out);
int LoomixExecutorForward(LoomixExecutor executor, int training);
/* One gradient an output; or none, where all outputs that need one are losses. */
int LoomixExecutorBackward(LoomixExecutor executor, size_t count, const LoomixArray* head_gradients);
/* "arguments", "gradients" (null where there is none), "auxiliary_states" or "outputs". They are the same in all passes. */
int LoomixExecutorList(LoomixExecutor executor, const char* kind, size_t* count, const LoomixArray** arrays);
/* Calls back with each value that the next passes compute, by the names of LoomixSymbolGetInternals. The array is the
 * callback's to free. A null callback ends it. */
typedef void (*LoomixMonitor)(const char* name, LoomixArray array, void* context);
int LoomixExecutorSetMonitor(LoomixExecutor executor, LoomixMonitor monitor, void* context);
/* What was compiled, as text. */
int LoomixExecutorDescribe(LoomixExecutor executor, int training, const char** text);

/* ---- graphs that are called ----------------------------------------------------------------------------------------------- */

/* A symbol that is called as an operator is: compiled for each combination of shapes, types and modes when it first comes, and
 * recorded as one operator. */
int LoomixGraphCreate(LoomixSymbol symbol, const char* name, LoomixGraph* out);
/* Arrays in the order of LoomixSymbolList's "inputs". New arrays, one an output. */
int LoomixGraphCall(LoomixGraph graph, size_t inputs, const LoomixArray* arrays, size_t* count,
                    const LoomixArray** outputs);
/* What was compiled for the last call, as text. */
int LoomixGraphDescribe(LoomixGraph graph, const char** text);

/* ---- gradients of what runs ----------------------------------------------------------------------------------------------- */

/* Whether this thread records what it runs, and whether operators are in training mode: 0, 1, or -1 to leave it. `before` may
 * be null. */
int LoomixAutogradSetMode(int recording, int training, int* recording_before, int* training_before);
/* Makes arrays the variables that gradients are for. */
int LoomixAutogradMark(size_t count, const LoomixArray* arrays, const LoomixArray* gradients,
                       const int32_t* requests);
/* `head_gradients` may be null: ones. */
int LoomixAutogradBackward(size_t count, const LoomixArray* heads, const LoomixArray* head_gradients,
                           int retain_graph, int training);

/* ---- stores of parameters ------------------------------------------------------------------------------------------------- */

/* A key is a number if `name` is null. 3 and "3" are different keys. */
typedef struct LoomixKey {
  const char* name;
  int64_t number;
} LoomixKey;

/* `local`, `device`; `dist_sync`, `dist_device_sync`, `dist_async`: in a cluster, as the environment says; these wait for it;
 * `dist_mpi`: the processes that mpirun started; `dist_network`: those of a job without MPI. */
int LoomixStoreCreate(const char* type, LoomixStore* out);
/* Any of them may be null. The text is valid until the thread's next call. */
int LoomixStoreGetInfo(LoomixStore store, const char** type, int* rank, int* workers);
int LoomixStoreInit(LoomixStore store, const LoomixKey* key, LoomixArray value);
/* The sum of the arrays goes to the updater or replaces the value. */
int LoomixStorePush(LoomixStore store, const LoomixKey* key, size_t count, const LoomixArray* values,
                    int priority);
int LoomixStorePull(LoomixStore store, const LoomixKey* key, size_t count, const LoomixArray* outs,
                    int priority);
/* Changes `stored` by `sum`, on the thread that pushes. Both handles are the callback's to free. It returns 0, or -1 with an
 * error of the thread, which the push then gives. A null updater ends it. */
typedef int (*LoomixUpdater)(const LoomixKey* key, LoomixArray sum, LoomixArray stored, void* context);
int LoomixStoreSetUpdater(LoomixStore store, LoomixUpdater updater, void* context);
/* Of stores in a cluster: the update that its servers do, by its name in MXNet and its settings. */
int LoomixStoreSetOptimizer(LoomixStore store, const char* name, const LoomixPairs* settings);
/* Gradients are compressed on the way: `type` ("2bit", "fp16") and its settings. */
int LoomixStoreSetCompression(LoomixStore store, const LoomixPairs* settings);
/* Waits for all workers. */
int LoomixStoreBarrier(LoomixStore store);
/* Where the environment says that this process is a scheduler or a server: it is one until the workers have left. */
int LoomixStoreServe(void);

/* ---- optimizers ----------------------------------------------------------------------------------------------------------- */

/* An update by its name in MXNet ("sgd", "adam") and its settings: "learning_rate", "wd", "rescale_grad", "clip_gradient", what
 * the update has of its own, and "lr_scheduler" with what that has. "lr_mult.KEY" and "wd_mult.KEY" are for one key. It keeps a
 * state a key. */
int LoomixOptimizerCreate(const char* name, const LoomixPairs* settings, LoomixOptimizer* out);
/* Other settings from now on, in place of all that there were. */
int LoomixOptimizerConfigure(LoomixOptimizer optimizer, const LoomixPairs* settings);
/* Pushes the updates of weights by their gradients. */
int LoomixOptimizerUpdate(LoomixOptimizer optimizer, size_t count, const LoomixKey* keys,
                          const LoomixArray* weights, const LoomixArray* gradients);
/* The state of a key: how often its weight was updated, and arrays; they are the state itself. */
int LoomixOptimizerGetState(LoomixOptimizer optimizer, const LoomixKey* key, int64_t* updates, size_t* count,
                            const LoomixArray** arrays);
int LoomixOptimizerSetState(LoomixOptimizer optimizer, const LoomixKey* key, int64_t updates, size_t count,
                            const LoomixArray* arrays);

/* ---- data ----------------------------------------------------------------------------------------------------------------- */

/* MNISTIter, CSVIter, ImageRecordIter or ImageDetRecordIter, with MXNet's parameters. */
int LoomixIteratorCreate(const char* name, const LoomixPairs* parameters, LoomixIterator* out);
/* Goes to the next batch; `more` is 0 at the end of the pass. */
int LoomixIteratorNext(LoomixIterator iterator, int* more);
/* Begins the next pass. */
int LoomixIteratorReset(LoomixIterator iterator);
/* Of the current batch. `pad` of its last samples only fill it up; `index` has the numbers of the samples. */
typedef struct LoomixBatch {
  LoomixArray data, label;
  int64_t pad;
  size_t indices;
  const uint64_t* index;
} LoomixBatch;
int LoomixIteratorGetBatch(LoomixIterator iterator, LoomixBatch* out);

#ifdef __cplusplus
}
#endif

#endif /* LOOMIX_C_API_H_ */
