/** PEM: blocks of base64 between BEGIN and END lines (RFC 7468). */

export interface PemBlock {
  /** The label, such as `CERTIFICATE`. */
  readonly label: string
  readonly der: Buffer
}

/** One block, 64 columns, with a final newline. */
export function encodePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** All blocks in order; text around them is skipped, as upstream does. */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*?)-----END \1-----/g
  for (const match of text.matchAll(pattern)) {
    const [, label = '', body = ''] = match
    blocks.push({ label, der: Buffer.from(body.replace(/\s+/g, ''), 'base64') })
  }
  return blocks
}

/** The certificates among the blocks, each as a PEM text of its own. */
export function splitCertificates(text: string): string[] {
  return decodePem(text)
    .filter((block) => block.label === 'CERTIFICATE')
    .map((block) => encodePem(block.label, block.der))
}
