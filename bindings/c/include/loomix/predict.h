/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction with a trained model, from C and from whatever calls C. Functions, types and numbers are those of MXNet's predict
 * interface, so programs for it need no change.
 *
 * Functions return 0, or -1 after an error that MXGetLastError() explains; what `out` arguments hold is unchanged then. No C++
 * exception leaves them. Any thread may call any function. Calls on one predictor run one after the other; to predict at the
 * same time, have a predictor for each thread (MXPredCreateMultiThread), which share the weights. */
#ifndef LOOMIX_PREDICT_H_
#define LOOMIX_PREDICT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t mx_uint;
typedef float mx_float;
typedef void* PredictorHandle;
typedef void* NDListHandle;

/* Why the last call of this thread that failed did. Valid until the thread's next call that fails. */
const char* MXGetLastError(void);

/* Makes a predictor.
 *   symbol_json_str           text of a *-symbol.json file
 *   param_bytes, param_size   content of a *.params file; it may be freed after the call
 *   dev_type, dev_id          1, 0: the CPU, the one device of this library; 3 (pinned memory) counts as 1
 *   input_keys                names of the inputs
 *   input_shape_data          their shapes, one after the other; the shape of input i lies at
 *                             input_shape_indptr[i] .. input_shape_indptr[i + 1]
 * Inputs are float32, and zero until they are set. Labels of losses need no shape. */
int MXPredCreate(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                 int dev_id, mx_uint num_input_nodes, const char** input_keys,
                 const mx_uint* input_shape_indptr, const mx_uint* input_shape_data, PredictorHandle* out);

/* The same for other outputs than the model's last ones: names of nodes, as "fc1", or of outputs, as "fc1_output". */
int MXPredCreatePartialOut(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                           int dev_id, mx_uint num_input_nodes, const char** input_keys,
                           const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                           mx_uint num_output_nodes, const char** output_keys, PredictorHandle* out);

/* The same with types of inputs: 0 float32, 1 float64, 2 float16, 3 uint8, 4 int32, 5 int8, 6 int64, 7 bool, 12 bfloat16. */
int MXPredCreateEx(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                   int dev_id, mx_uint num_input_nodes, const char** input_keys,
                   const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                   mx_uint num_provided_arg_dtypes, const char** provided_arg_dtype_names,
                   const int* provided_arg_dtypes, PredictorHandle* out);

/* Makes `num_threads` predictors that share the weights; `out` has room for as many. */
int MXPredCreateMultiThread(const char* symbol_json_str, const void* param_bytes, int param_size,
                            int dev_type, int dev_id, mx_uint num_input_nodes, const char** input_keys,
                            const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                            int num_threads, PredictorHandle* out);

/* Makes a predictor for inputs of other shapes that shares the weights of `handle`, which stays as it is. */
int MXPredReshape(mx_uint num_input_nodes, const char** input_keys, const mx_uint* input_shape_indptr,
                  const mx_uint* input_shape_data, PredictorHandle handle, PredictorHandle* out);

/* The shape, known from the start, stays valid until the predictor is freed. */
int MXPredGetOutputShape(PredictorHandle handle, mx_uint index, mx_uint** shape_data, mx_uint* shape_ndim);

int MXPredGetOutputType(PredictorHandle handle, mx_uint out_index, int* out_dtype);

/* Copies an input's elements; `size` is their number, `data` points to elements of the input's type. */
int MXPredSetInput(PredictorHandle handle, const char* key, const mx_float* data, mx_uint size);

/* Predicts; the outputs are there when it returns. */
int MXPredForward(PredictorHandle handle);

/* A prediction in steps, numbered from 0, until `step_left` is 0: as many as the network has nodes, as in MXNet. A compiled
 * model has operators of its own, so all is computed in the last step. Steps beyond it do nothing. */
int MXPredPartialForward(PredictorHandle handle, int step, int* step_left);

/* Copies an output of the last prediction; `size` and `data` as for MXPredSetInput. */
int MXPredGetOutput(PredictorHandle handle, mx_uint index, mx_float* data, mx_uint size);

int MXPredFree(PredictorHandle handle);

/* Reads a file of arrays, such as a mean image. */
int MXNDListCreate(const char* nd_file_bytes, int nd_file_size, NDListHandle* out, mx_uint* out_length);

/* One array: its name ("" if the file has none) and its elements as float32, valid until the list is freed. */
int MXNDListGet(NDListHandle handle, mx_uint index, const char** out_key, const mx_float** out_data,
                const mx_uint** out_shape, mx_uint* out_ndim);

int MXNDListFree(NDListHandle handle);

#ifdef __cplusplus
}
#endif

#endif /* LOOMIX_PREDICT_H_ */
