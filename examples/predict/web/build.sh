#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the page into a folder: bash examples/predict/web/build.sh [build/web]. Needs emcc (Debian: emscripten).
set -euo pipefail
cd "$(dirname "$0")/../../.."
to=${1:-build/web}
functions=_malloc,_free,_MXGetLastError
for name in PredCreate PredCreateEx PredCreatePartialOut PredReshape PredSetInput PredForward PredPartialForward \
  PredGetOutputShape PredGetOutputType PredGetOutput PredFree NDListCreate NDListGet NDListFree; do
  functions+=,_MX$name
done
python3 tools/amalgamate "$to"
emcc -std=c++20 -O2 -msimd128 -fexceptions -w -c "$to/loomix_predict.cc" -o "$to/loomix_predict.o"
# At -O1 the linker does without acorn, which Debian's emscripten may lack.
emcc -O1 -fexceptions "$to/loomix_predict.o" -o "$to/loomix_predict.js" -s MODULARIZE=1 -s EXPORT_NAME=LoomixPredict \
  -s ALLOW_MEMORY_GROWTH=1 -s TOTAL_STACK=2097152 -s EXPORTED_FUNCTIONS=$functions -s EXPORTED_RUNTIME_METHODS=UTF8ToString
rm "$to/loomix_predict.o"
# LeNet after one epoch, and 32 pictures of Fashion-MNIST's test set (MIT licence, Zalando SE).
files=tests/compat/files/checkpoint
cp examples/predict/web/index.html examples/predict/web/predictor.js "$to/"
cp $files/lenet-symbol.json "$to/model-symbol.json"
cp $files/lenet-0001.params "$to/model.params"
tail -c $((32 * 28 * 28)) $files/lenet_images.npy >"$to/samples.bin"
echo "$to: python3 -m http.server -d $to, then http://localhost:8000"
