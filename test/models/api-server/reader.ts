/** Sends the gets, lists and pages of a story, and keeps lists that have more pages. */
import type { Identity } from '../../support/api-client.ts'
import { revisionOf, shown, type Shown } from './history.ts'
import type { Recorded, Recorder } from './recorder.ts'
import type { Selection } from './selections.ts'
import type { StepOf } from './steps.ts'
import type { Memory } from './writer.ts'

/** A version that no test reaches. */
export const futureVersion = 9_999_999_999

/** One list, page by page. */
export interface Listing {
  readonly selection: Selection
  readonly mode: StepOf<'list'>['mode']
  /** The version it asked for. */
  readonly asked: { readonly revision: number; readonly sinceMs: number }
  readonly pages: { readonly record: Recorded; readonly limit: number }[]
  token: string
}

/** `base` is the collection's path and `ns` its namespace. */
export function pathFor(selection: Selection, at: string, query: Record<string, string>): string {
  const [base, ns] = selection.isOfAll
    ? [at.replace(/\/namespaces\/[^/]+/, ''), at.split('/')[4] ?? '']
    : [at, '']
  const more = new URLSearchParams(query).toString()
  return `${base}?${[selection.query.replace('%25NS', ns), more].filter(Boolean).join('&')}`
}

export class Reader {
  readonly listings: Listing[] = []
  readonly #recorder: Recorder
  readonly #memory: Memory
  readonly #at: string

  constructor(options: { recorder: Recorder; memory: Memory; at: string }) {
    this.#recorder = options.recorder
    this.#memory = options.memory
    this.#at = options.at
  }

  async get(request: StepOf<'get'>, as: Identity): Promise<Recorded> {
    const version = {
      newest: '',
      zero: '0',
      known: String(this.#memory.version(0).revision),
      future: String(futureVersion),
    }[request.at]
    const path = `${this.#at}/${request.name}${version === '' ? '' : `?resourceVersion=${version}`}`
    return await this.#recorder.send(request, { method: 'GET', path, as })
  }

  async list(request: StepOf<'list'>, as: Identity): Promise<Recorded> {
    const { selection, mode, limit } = request
    const asked = this.#memory.version(request.age)
    const resourceVersion = String(asked.revision)
    const query: Record<string, string> = {
      newest: {},
      zero: { resourceVersion: '0' },
      plain: { resourceVersion },
      'not-older': { resourceVersion, resourceVersionMatch: 'NotOlderThan' },
      exact: { resourceVersion, resourceVersionMatch: 'Exact' },
      future: { resourceVersion: String(futureVersion) },
    }[mode]
    const listing: Listing = { selection, mode, asked, pages: [], token: '' }
    this.listings.push(listing)
    return await this.#page(listing, { request, limit, query, as })
  }

  /** The next page of the oldest list that has one; undefined when none has. */
  async page(request: StepOf<'page'>, as: Identity): Promise<Recorded | undefined> {
    const listing = this.listings.find(({ token }) => token !== '')
    if (listing === undefined) return undefined
    const query = { continue: listing.token }
    // Taken by this client: no other asks for the same page.
    listing.token = ''
    return await this.#page(listing, { request, limit: request.limit, query, as })
  }

  async #page(
    listing: Listing,
    ask: {
      request: StepOf<'list'> | StepOf<'page'>
      limit: number
      query: Record<string, string>
      as: Identity
    },
  ): Promise<Recorded> {
    const { request, limit, as } = ask
    const query = limit === 0 ? ask.query : { ...ask.query, limit: String(limit) }
    const path = pathFor(listing.selection, this.#at, query)
    const record = await this.#recorder.send(request, { method: 'GET', path, as })
    listing.pages.push({ record, limit })
    const { reply } = record
    if (reply?.status === 200) listing.token = (reply.body.metadata.continue as string) ?? ''
    return record
  }
}

export const itemsOf = (record: Recorded): Shown[] =>
  (record.reply?.body.items as Shown[]).map(shown)

export const listRevision = (record: Recorded): number => revisionOf(record.reply?.body as Shown)
