/** The text form of a RequestCause, as the header `Skiff-Cause` carries it: `watch pods default/web-1 4711`, `timer resync`, `start`. */
import type { RequestCause } from './request-record.ts'

const longest = 400
const wordPattern = /^[\x21-\x7e]+$/
const textPattern = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

const isWord = (text: string | undefined): boolean => text !== undefined && wordPattern.test(text)

/** The header's value; undefined for a cause that has no such form, as with a name that is not ASCII. */
export function formatCause({ kind, what, key, revision }: RequestCause): string | undefined {
  if (kind === 'watch' && (!isWord(what) || !isWord(key) || !isWord(revision))) return undefined
  const text = kind === 'watch' ? `${kind} ${what} ${key} ${revision}` : `${kind} ${what}`.trimEnd()
  return text.length <= longest && textPattern.test(text) ? text : undefined
}

/** The cause in a header; undefined for any other text, however long. */
export function parseCause(text: string): RequestCause | undefined {
  if (text.length > longest) return undefined
  const [kind, ...words] = text.split(' ')
  if (words.some((word) => !wordPattern.test(word))) return undefined
  if (kind === 'watch') {
    const [what, key, revision] = words
    if (words.length !== 3 || what === undefined) return undefined
    return { kind, what, key: key ?? '', revision: revision ?? '' }
  }
  if (kind !== 'timer' && kind !== 'start') return undefined
  return { kind, what: words.join(' ') }
}
