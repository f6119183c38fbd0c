/** negotiate: the Accept header -> how an answer is represented (spec: "Request headers"; upstream: negotiation.go). */
import type { Dialect } from '../api/dialect.ts'
import { StatusError } from '../machinery/status-error.ts'

/** `object` is the plain form; the others are views that the server makes of it. */
export type View = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'

export interface Representation {
  readonly mediaType: 'application/json' | 'application/yaml'
  readonly view: View
  /** Version of the meta group the view was asked in: v1 or v1beta1. */
  readonly viewVersion: string
}

const plainJson: Representation = {
  mediaType: 'application/json',
  view: 'object',
  viewVersion: 'v1',
}

interface Clause {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

function parseAccept(header: string | string[]): Clause[] {
  const clauses: Clause[] = []
  for (const text of [header].flat().join(',').split(',')) {
    const [type = '', ...rest] = text.split(';')
    const parameters = new Map<string, string>()
    for (const parameter of rest) {
      const equals = parameter.indexOf('=')
      if (equals > 0) {
        parameters.set(
          parameter.slice(0, equals).trim().toLowerCase(),
          parameter
            .slice(equals + 1)
            .trim()
            .replace(/^"|"$/g, ''),
        )
      }
    }
    const quality = Number(parameters.get('q') ?? '1')
    clauses.push({
      type: type.trim().toLowerCase(),
      parameters,
      quality: Number.isFinite(quality) ? quality : 0,
    })
  }
  return clauses.filter((clause) => clause.type !== '').sort((a, b) => b.quality - a.quality)
}

const mediaTypes: ReadonlyMap<string, Representation['mediaType']> = new Map([
  ['application/json', 'application/json'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
  ['application/yaml', 'application/yaml'],
])

const views = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'])

/** 406; upstream's router refuses unknown types in its own words, its handlers unknown views of known types in theirs. */
function notAcceptable(isTypeKnown: boolean, isStream: boolean): StatusError {
  const produced = isStream ? 'application/json;stream=watch' : 'application/json, application/yaml'
  const message = isTypeKnown
    ? `only the following media types are accepted: ${produced}`
    : `406: Not Acceptable\n\nAvailable representations: ${produced}`
  return new StatusError('NotAcceptable', message, { details: {} })
}

/** The best representation the client accepts; a 406 StatusError when there is none. Streams are never YAML. */
export function negotiate(
  header: string | string[] | undefined,
  dialect: Dialect,
  { isStream = false }: { isStream?: boolean } = {},
): Representation {
  if (header === undefined || header === '' || header === 'application/json') return plainJson
  let isTypeKnown = false
  for (const { type, parameters, quality } of parseAccept(header)) {
    const mediaType = mediaTypes.get(type)
    if (mediaType === undefined || quality <= 0) continue
    isTypeKnown = true
    if (isStream && mediaType !== 'application/json') continue
    const view = parameters.get('as')
    if (view === undefined) return { mediaType, view: 'object', viewVersion: 'v1' }
    const version = parameters.get('v') ?? ''
    const isMeta = parameters.get('g') === `meta.${dialect.apiDomain}`
    if (views.has(view) && isMeta && (version === 'v1' || version === 'v1beta1')) {
      return { mediaType, view: view as View, viewVersion: version }
    }
  }
  throw notAcceptable(isTypeKnown, isStream)
}

/** Whether YAML is the first type the client would take of those there are. */
export function prefersYaml(header: string | string[] | undefined): boolean {
  if (header === undefined || !header.includes('yaml')) return false
  const known = parseAccept(header).find(({ type, quality }) => mediaTypes.has(type) && quality > 0)
  return known?.type === 'application/yaml'
}
