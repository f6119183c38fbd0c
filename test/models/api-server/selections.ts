/** Selections of a collection: the query that asks for one, and what it means, written down once more as plainly as can be. */
import type { Shown } from './history.ts'

export interface Selection {
  readonly name: string
  readonly query: string
  /** Asked of all namespaces at once, not of the namespace's own collection. */
  readonly isOfAll: boolean
  readonly matches: (object: Shown) => boolean
}

const app = (object: Shown): string | undefined => object.metadata.labels?.['app']

function selection(
  name: string,
  query: Record<string, string>,
  matches: Selection['matches'],
): Selection {
  return { name, query: new URLSearchParams(query).toString(), isOfAll: false, matches }
}

export const everything = selection('all', {}, () => true)

/** `%NS` in a query stands for the namespace of the run. */
export const selections: readonly Selection[] = [
  everything,
  selection('app is x', { labelSelector: 'app=x' }, (object) => app(object) === 'x'),
  selection('app is not x', { labelSelector: 'app!=x' }, (object) => app(object) !== 'x'),
  selection('has app', { labelSelector: 'app' }, (object) => app(object) !== undefined),
  selection('x or y', { labelSelector: 'app in (x,y)' }, (object) =>
    ['x', 'y'].includes(app(object) ?? ''),
  ),
  selection('no app', { labelSelector: '!app' }, (object) => app(object) === undefined),
  selection('is a', { fieldSelector: 'metadata.name=a' }, (object) => object.metadata.name === 'a'),
  selection(
    'is not a',
    { fieldSelector: 'metadata.name!=a' },
    (object) => object.metadata.name !== 'a',
  ),
  selection(
    'x but not b',
    { labelSelector: 'app=x', fieldSelector: 'metadata.name!=b' },
    (object) => app(object) === 'x' && object.metadata.name !== 'b',
  ),
  {
    ...selection('of all namespaces', { fieldSelector: 'metadata.namespace=%NS' }, () => true),
    isOfAll: true,
  },
]
