/** negotiate: the Accept header -> how an answer is represented (spec: "Request headers"; upstream: negotiate.go, goautoneg). */
import type { Dialect } from '../../api/dialect.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import { queryFlag } from '../request/request-info.ts'
import type { RequestContext } from '../request/request.ts'

/** `object` is the plain form; the others are views that the server makes of it. */
export type ViewName = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'

export type Encoding = 'json' | 'yaml' | 'protobuf' | 'cbor'

export interface Representation {
  readonly encoding: Encoding
  readonly view: ViewName
  /** Version of the meta group the view was asked in: v1 or v1beta1. */
  readonly viewVersion: string
  /** Indented for people. */
  readonly pretty: boolean
}

/** What an endpoint can answer with. */
export interface Offer {
  /** In order of preference. */
  readonly encodings: readonly Encoding[]
  /** More of them for metadata alone: that of custom resources has a form that they have not. */
  readonly metadataEncodings?: readonly Encoding[]
  /** The views beside the object itself that a client may ask for. */
  readonly views: readonly ViewName[]
  /** Whether the request is a watch: YAML does not support watches. */
  readonly isStream: boolean
}

const plainJson: Representation = {
  encoding: 'json',
  view: 'object',
  viewVersion: 'v1',
  pretty: false,
}

interface Clause {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

function unquoted(text: string): string {
  return text.trim().replace(/^"(.*)"$/, '$1')
}

/** How narrow a range of types is: the narrower is served before the wider of the same quality. */
function specificity(type: string): number {
  return type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2
}

function parseAccept(header: string | string[]): Clause[] {
  const clauses: Clause[] = []
  for (const text of [header].flat().join(',').split(',')) {
    const [range = '', ...rest] = text.split(';')
    const parameters = new Map<string, string>()
    for (const parameter of rest) {
      const equals = parameter.indexOf('=')
      if (equals <= 0) continue
      const name = parameter.slice(0, equals).trim().toLowerCase()
      parameters.set(name, unquoted(parameter.slice(equals + 1)))
    }
    const quality = Number(parameters.get('q') ?? '1')
    const type = range.trim().toLowerCase()
    clauses.push({
      type: type === '*' ? '*/*' : type,
      parameters,
      quality: Number.isFinite(quality) ? quality : 0,
    })
  }
  return clauses
    .filter(({ type, quality }) => type.includes('/') && quality > 0)
    .sort((a, b) => b.quality - a.quality || specificity(b.type) - specificity(a.type))
}

/** The media type of each encoding in a dialect. */
export function mediaTypeOf(encoding: Encoding, dialect: Dialect): string {
  return encoding === 'protobuf' ? dialect.protobufMediaType : `application/${encoding}`
}

function covers(range: string, mediaType: string): boolean {
  return range === '*/*' || range === mediaType || range === `${mediaType.split('/', 1)[0]}/*`
}

const metadataViews: readonly ViewName[] = ['PartialObjectMetadata', 'PartialObjectMetadataList']
const allViews: readonly ViewName[] = ['Table', ...metadataViews]

/** Everything has metadata; Tables are of what can be printed. */
export function viewsOf({ hasTable }: { hasTable: boolean }): readonly ViewName[] {
  return hasTable ? allViews : metadataViews
}

/** What a clause's parameters ask for; undefined when this encoding or endpoint cannot give it. */
function representationOf(
  { parameters }: Clause,
  encoding: Encoding,
  at: { offer: Offer; dialect: Dialect },
): Representation | undefined {
  const { offer, dialect } = at
  const stream = parameters.get('stream') ?? ''
  if (stream !== '' && (stream !== 'watch' || encoding === 'yaml')) return undefined
  const pretty = parameters.get('pretty') === '1'
  const [view, group, version = ''] = ['as', 'g', 'v'].map((name) => parameters.get(name))
  if (view === undefined && group === undefined && version === '') {
    return { encoding, view: 'object', viewVersion: 'v1', pretty }
  }
  const isKnown =
    offer.views.includes(view as ViewName) &&
    group === `meta.${dialect.apiDomain}` &&
    (version === 'v1' || version === 'v1beta1')
  if (!isKnown || (view === 'Table' && encoding === 'protobuf')) return undefined
  return { encoding, view: view as ViewName, viewVersion: version, pretty }
}

/** 406; upstream's router refuses unknown types in its own words, its handlers unknown views of known types in theirs. */
function notAcceptable(
  isTypeKnown: boolean,
  offer: Offer,
  { dialect, verb }: { dialect: Dialect; verb: string },
): StatusError {
  const { encodings, metadataEncodings } = offer
  const offered = [...encodings, ...(metadataEncodings ?? [])]
  const types = offered.map((encoding) => mediaTypeOf(encoding, dialect))
  const streams = offered
    .filter((encoding) => encoding !== 'yaml')
    .map((encoding) => `${mediaTypeOf(encoding, dialect)};stream=watch`)
  // Requests for custom resources are not routed by type.
  if (isTypeKnown || metadataEncodings !== undefined) {
    const accepted = offer.isStream ? streams : types
    return new StatusError(
      'NotAcceptable',
      `only the following media types are accepted: ${accepted.join(', ')}`,
    )
  }
  const produced = verb === 'list' || verb === 'watch' ? [...types, ...streams] : types
  return new StatusError(
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${produced.join(', ')}`,
    { details: {} },
  )
}

/** The best representation that the header accepts of what is offered; undefined without one. */
export function chosen(
  header: string | string[] | undefined,
  offer: Offer,
  dialect: Dialect,
): Representation | 'unknown type' | 'unknown view' {
  if (header === undefined || header === '' || header === 'application/json') return plainJson
  let isTypeKnown = false
  const { encodings, metadataEncodings = [] } = offer
  const all = metadataEncodings.length === 0 ? encodings : [...encodings, ...metadataEncodings]
  for (const clause of parseAccept(header)) {
    for (const encoding of all) {
      if (!covers(clause.type, mediaTypeOf(encoding, dialect))) continue
      isTypeKnown = true
      if (offer.isStream && encoding === 'yaml') continue
      const representation = representationOf(clause, encoding, { offer, dialect })
      if (representation === undefined) continue
      const { view } = representation
      if (encodings.includes(encoding) || view.startsWith('Partial')) return representation
    }
  }
  return isTypeKnown ? 'unknown view' : 'unknown type'
}

const people = /^(?:curl|Wget|Mozilla\/5\.0)/

/** Whether JSON is indented: by the query, else for tools that people look at (upstream: isPrettyPrint). */
export function wantsPretty({ info, http }: RequestContext): boolean {
  if (info.query.has('pretty')) return queryFlag(info.query, 'pretty')
  const agent = http.headers['user-agent']
  return typeof agent === 'string' && people.test(agent)
}

/** The best representation the client accepts; a 406 StatusError if it accepts no available one. */
export function negotiate(context: RequestContext, offer: Offer): Representation {
  const { dialect, http, info } = context
  const choice = chosen(http.headers['accept'], offer, dialect)
  if (typeof choice === 'string') {
    throw notAcceptable(choice === 'unknown view', offer, { dialect, verb: info.verb })
  }
  return wantsPretty(context) && !choice.pretty ? { ...choice, pretty: true } : choice
}
