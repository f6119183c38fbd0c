/** Text in Mermaid diagrams: characters that Mermaid or HTML read as markup become entity codes (Mermaid: flowchart, entity codes). */
import { plain } from '../../cluster/cli/why-request-text.ts'

/** Everything but letters, digits, spaces and a little punctuation: Mermaid's grammar differs from one kind of diagram to the next. */
const special = /[^\p{L}\p{N} .,_/()+×…-]/gu

export function mermaidText(text: string): string {
  return plain(text.toWellFormed()).replaceAll(special, (one) => `#${one.codePointAt(0)};`)
}
