/** recorded: what of a request its records show: selectors, and texts that are cut so that no client fills the records. */
import type { RequestInfo } from './request.ts'

const longestText = 500

/** At most 500 characters and an ellipsis. */
export function cutText(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}...`
}

const selecting = new Set(['list', 'watch', 'deletecollection'])

export interface RecordedSelectors {
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

const none = Object.freeze({})

/** What a list or a watch begins with. */
export interface RecordedReading {
  readonly limit?: number
  readonly resourceVersion?: string
  readonly isNextPage?: true
  readonly hasInitialEvents?: true
}

/** What the query of a list or a watch asks for. */
export function readingOf({ verb, query }: RequestInfo): RecordedReading {
  if (query.size === 0 || (verb !== 'list' && verb !== 'watch')) return none
  const limit = Number(query.get('limit') ?? 0)
  const resourceVersion = query.get('resourceVersion') ?? ''
  return {
    ...(limit > 0 ? { limit } : {}),
    ...(resourceVersion === '' ? {} : { resourceVersion: cutText(resourceVersion) }),
    ...(query.get('continue') ? { isNextPage: true } : {}),
    ...(query.get('sendInitialEvents') === 'true' ? { hasInitialEvents: true } : {}),
  }
}

/** The selectors of a request that may have some. */
export function selectorsOf({ verb, query }: RequestInfo): RecordedSelectors {
  if (query.size === 0 || !selecting.has(verb)) return none
  const fieldSelector = query.get('fieldSelector') ?? ''
  const labelSelector = query.get('labelSelector') ?? ''
  return {
    ...(fieldSelector === '' ? {} : { fieldSelector: cutText(fieldSelector) }),
    ...(labelSelector === '' ? {} : { labelSelector: cutText(labelSelector) }),
  }
}
