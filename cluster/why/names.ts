/** How findings write objects, lists and amounts of things. Pure. */
import type { AnyObject } from './evidence.ts'

/** `pod/web-0 -n default`: what follows `skiff why` and `kubectl describe`. */
export function objectText({ kind = '', metadata }: AnyObject): string {
  const { namespace, name = '' } = metadata
  return `${kind.toLowerCase()}/${name}${namespace ? ` -n ${namespace}` : ''}`
}

/** `a, b and 3 more`. */
export function listText(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most)
  const more = names.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

/** A text from the cluster as the end of a sentence: with one full stop. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** `1 pod`, `2 pods`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The labels in the query form: `app=web,tier=front`. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.join(',') || '(no labels)'
}
