/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include the header by MXNet's name. */
#ifndef MXNET_C_PREDICT_API_H_
#define MXNET_C_PREDICT_API_H_

#include <loomix/predict.h>

#ifndef MXNET_DLL
#define MXNET_DLL
#endif

#endif /* MXNET_C_PREDICT_API_H_ */
