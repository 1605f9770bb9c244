"use strict";
// Arrays of the payload, and compressed chunks, which are read when they are needed.

const KINDS = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

function fromBase64(data) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Replace what `isPacked` recognises by arrays, wherever it is. */
function unpacked(value, array) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.packed === "string" && Object.hasOwn(KINDS, value.packed)) return array(value);
  if (Array.isArray(value)) return typeof value[0] === "object" ? value.map((part) => unpacked(part, array)) : value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unpacked(part, array)]));
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** The tree in a chunk: the length of its JSON, the JSON, and the arrays that it mentions. */
async function chunkTree(bytes) {
  const buffer = await inflated(bytes);
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const tree = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  return unpacked(tree, ({ packed, start: at, length }) => new KINDS[packed](buffer, start + at, length));
}

/** Chunks of samples: in the page, or in the file beside it once the reader has opened that. */
class Archive {
  constructor(bounds, read, prepare = (tree) => tree) {
    Object.assign(this, { bounds, read, prepare, kept: new Map() });
  }

  get length() { return this.bounds.length - 1; }

  chunk(i) {
    if (!this.kept.has(i)) this.kept.set(i, this.read(i).then(chunkTree).then((tree) => this.prepare(tree, i)));
    return this.kept.get(i);
  }

  /** The chunk of a sample, and its place there. */
  async find(sample) {
    let low = 0, high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.bounds[middle] <= sample) low = middle;
      else high = middle - 1;
    }
    return [await this.chunk(low), sample - this.bounds[low]];
  }
}

const inPage = (kind) => async (i) => fromBase64(byId(`${kind}-${i}`).textContent);

const report = unpacked(JSON.parse(byId("payload").textContent), ({ packed, data }) => new KINDS[packed](fromBase64(data).buffer));
