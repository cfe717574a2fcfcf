// SPDX-License-Identifier: Apache-2.0
// Loomix's C functions, compiled to WebAssembly, as a class. In a browser and in Node.js.

class Predictor {
  // `wasm`: what LoomixPredict() gives; `symbol`: the text of *-symbol.json; `params`: the bytes of *.params;
  // `shapes`: {name of an input: its sizes}.
  constructor(wasm, symbol, params, shapes) {
    this.wasm = wasm;
    this.inputs = {};
    const names = Object.keys(shapes);
    const sizes = names.flatMap((name) => shapes[name]);
    const bounds = [0];
    for (const name of names) bounds.push(bounds[bounds.length - 1] + shapes[name].length);
    const taken = [];
    const keep = (pointer) => (taken.push(pointer), pointer);
    try {
      const keys = keep(this.numbers(names.map((name) => keep(this.text(name)))));
      const handle = keep(wasm._malloc(4));
      this.check(
        wasm._MXPredCreate(keep(this.text(symbol)), keep(this.bytes(params)), params.length, 1, 0, names.length, keys,
          keep(this.numbers(bounds)), keep(this.numbers(sizes)), handle));
      this.handle = wasm.HEAPU32[handle >> 2];
    } finally {
      taken.forEach((pointer) => wasm._free(pointer));
    }
  }

  // `values`: {name: Float32Array}; gives the first output.
  predict(values) {
    const wasm = this.wasm;
    for (const [name, value] of Object.entries(values)) {
      const key = this.text(name);
      const data = this.bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      try {
        this.check(wasm._MXPredSetInput(this.handle, key, data, value.length));
      } finally {
        wasm._free(key);
        wasm._free(data);
      }
    }
    this.check(wasm._MXPredForward(this.handle));
    return this.output(0);
  }

  output(index) {
    const wasm = this.wasm;
    const out = wasm._malloc(8);
    this.check(wasm._MXPredGetOutputShape(this.handle, index, out, out + 4));
    const shape = wasm.HEAPU32[out >> 2];
    const axes = wasm.HEAPU32[(out + 4) >> 2];
    wasm._free(out);
    const size = wasm.HEAPU32.slice(shape >> 2, (shape >> 2) + axes).reduce((a, b) => a * b, 1);
    const data = wasm._malloc(size * 4);
    try {
      this.check(wasm._MXPredGetOutput(this.handle, index, data, size));
      return wasm.HEAPF32.slice(data >> 2, (data >> 2) + size);
    } finally {
      wasm._free(data);
    }
  }

  free() {
    this.check(this.wasm._MXPredFree(this.handle));
  }

  check(code) {
    if (code !== 0) throw new Error(this.wasm.UTF8ToString(this.wasm._MXGetLastError()));
  }
  bytes(array) {
    const pointer = this.wasm._malloc(array.length + 1);
    this.wasm.HEAPU8.set(array, pointer);
    this.wasm.HEAPU8[pointer + array.length] = 0;
    return pointer;
  }
  text(string) {
    return this.bytes(new TextEncoder().encode(string));
  }
  numbers(list) {
    const pointer = this.wasm._malloc(4 * Math.max(1, list.length));
    this.wasm.HEAPU32.set(list, pointer >> 2);
    return pointer;
  }
}

if (typeof module !== "undefined") module.exports = { Predictor };
