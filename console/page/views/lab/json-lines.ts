/** jsonLines: the values of a stream of JSON lines, as they come. */

/** Throws a SyntaxError for a line that is no JSON. What follows the last line break is left out. */
export async function* jsonLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<unknown> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = `${rest}${value}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as unknown
  }
}
