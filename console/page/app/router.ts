/** router: the page's place is in the fragment: `#/objects/apps/v1/deployments?namespace=a`. */
import { computed, signal } from '@preact/signals'

export interface Place {
  /** `['objects', 'apps', 'v1']`; the first names the view. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

function parse(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').filter((part) => part !== '')
  return { parts: parts.map(decodeURIComponent), query: new URLSearchParams(query) }
}

const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

export const place = computed(() => parse(hash.value))

/** The link to a place. Empty values of the query are left out. */
export function linkTo(
  parts: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, value)
  }
  const path = `#/${parts.map(encodeURIComponent).join('/')}`
  return search.size === 0 ? path : `${path}?${search.toString()}`
}

export function goTo(
  parts: readonly string[],
  query?: Readonly<Record<string, string | undefined>>,
): void {
  location.hash = linkTo(parts, query)
}
