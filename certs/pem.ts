/** PEM: blocks of base64 between BEGIN and END lines (RFC 7468). */

export interface PemBlock {
  /** The label, such as `CERTIFICATE`. */
  readonly label: string
  readonly hasHeaders: boolean
  readonly der: Buffer
}

const beginMark = '-----BEGIN '
const endMark = '-----END '
const dashes = '-----'
const base64 = /^[A-Za-z0-9+/]*={0,2}$/
/** How many malformed blocks are skipped, since each makes the reader scan what follows. */
const mostMalformed = 100

/** One block, 64 columns, with a final newline. */
export function encodePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** The well-formed blocks in order. Text around them and malformed blocks are skipped (Go: pem.Decode). */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  let malformed = 0
  for (let at = 0; malformed <= mostMalformed;) {
    const begin = startOfLine(text, beginMark, at)
    if (begin < 0) break
    const { block, next } = readBlock(text, begin)
    if (block === undefined) malformed += 1
    else blocks.push(block)
    at = next
  }
  return blocks
}

/** Where the mark next begins a line; `at` is where one begins. */
function startOfLine(text: string, mark: string, at: number): number {
  if (text.startsWith(mark, at)) return at
  const found = text.indexOf(`\n${mark}`, at)
  return found < 0 ? -1 : found + 1
}

function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found < 0 ? text.length : found + 1
}

/** The block whose first line is at `begin`, unless it is malformed, and where to read on. */
function readBlock(text: string, begin: number): { block?: PemBlock; next: number } {
  let at = nextLine(text, begin)
  const line = text.slice(begin + beginMark.length, at).trimEnd()
  if (!line.endsWith(dashes)) return { next: at }
  const label = line.slice(0, -dashes.length)
  let hasHeaders = false
  for (
    let next = nextLine(text, at);
    text.slice(at, next).includes(':');
    next = nextLine(text, at)
  ) {
    hasHeaders = true
    at = next
  }
  const end = startOfLine(text, endMark, at)
  const after = end + endMark.length + label.length + dashes.length
  const isEnded =
    end >= 0 &&
    text.startsWith(label + dashes, end + endMark.length) &&
    text.slice(after, nextLine(text, after)).trim() === ''
  const data = isEnded ? text.slice(at, end).replace(/\s/g, '') : ''
  if (!isEnded || data.length % 4 !== 0 || !base64.test(data)) return { next: at }
  const block = { label, hasHeaders, der: Buffer.from(data, 'base64') }
  return { block, next: nextLine(text, after) }
}

/** The certificates among the blocks, each as a PEM text of its own. */
export function splitCertificates(text: string): string[] {
  return decodePem(text)
    .filter((block) => block.label === 'CERTIFICATE')
    .map((block) => encodePem(block.label, block.der))
}
