/** The engine as build.mjs embeds it: compressed with XZ, in base64. */
import { XzReadableStream } from "xz-decompress";

/*! The decoder is xz-decompress (MIT License), by Tim Perry and Steven Sanderson, with XZ Embedded by Lasse Collin (public domain). */
declare const ENGINE: string;

/** Decompresses and compiles the engine. */
export async function compiledEngine(): Promise<WebAssembly.Module> {
    const packed = Uint8Array.from(atob(ENGINE), (letter) => letter.charCodeAt(0));
    const stream = new XzReadableStream(new Blob([packed]).stream());
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
