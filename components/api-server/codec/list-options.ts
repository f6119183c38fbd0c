/** list-options: the query of list, watch and get -> checked options (upstream: metav1.ListOptions and its validation). */
import { objectKindOf } from '../../api/object-kind.ts'
import type { Dialect } from '../../api/dialect.ts'
import { indexedFieldOf, selectableFieldValue } from '../../api/selectable-fields.ts'
import {
  checkFieldSelector,
  exactFieldMatch,
  matchesFields,
  parseFieldSelector,
  type FieldSelector,
} from '../../machinery/selectors/field-selector.ts'
import {
  matchesLabels,
  parseLabelSelector,
  type LabelSelector,
} from '../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { badRequest, invalid, type FieldError } from '../../machinery/objects/status-error.ts'
import { queryFlag } from '../request/request-info.ts'
import type { Entry } from '../watch-cache/entry.ts'
import type { SelectedValue } from '../watch-cache/watcher.ts'

export interface Selection {
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** Undefined when everything matches. */
  readonly matches: ((entry: Entry) => boolean) | undefined
  /** The one name that can match, when the selector demands it. */
  readonly name: string | undefined
  /** A value of a field that everything which matches has. */
  readonly selected: SelectedValue | undefined
}

export interface ListOptions {
  readonly selection: Selection
  readonly resourceVersion: string
  readonly match: '' | 'Exact' | 'NotOlderThan'
  readonly limit: number
  readonly continue: string
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly timeoutSeconds: number | undefined
}

function parseInteger(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (!/^[+-]?[0-9]+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
  }
  if (!Number.isSafeInteger(Number(text))) {
    throw badRequest(`strconv.ParseInt: parsing "${text}": value out of range`)
  }
  return Number(text)
}

/** Of the fields that a key tells: nothing is decoded for a selector that names an object. */
function keyField({ key }: Entry, field: string): string | undefined {
  const end = key.lastIndexOf('/')
  if (field === 'metadata.name') return key.slice(end + 1)
  return field === 'metadata.namespace' ? key.slice(0, Math.max(0, end)) : undefined
}

/** The selectors of a request as one test on entries. */
export function selectionOf(resource: Resource, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '')
  const kind = objectKindOf(resource)
  const asked = parseFieldSelector(query.get('fieldSelector') ?? '')
  const fields = checkFieldSelector(asked, resource, kind.fieldSelectors)
  const byLabels = labels.length > 0
  const byFields = fields.length > 0
  const objectOf = (entry: Entry): KubeObject => kind.working(entry.object())
  const valueIn = (field: string) => (object: KubeObject) =>
    selectableFieldValue(resource, kind.working(object), field)
  // What a custom resource is read as can change with its definition; an entry of a built-in kind never changes.
  const fieldOf = (entry: Entry, field: string): string =>
    keyField(entry, field) ??
    (kind.isOwnedBySchema
      ? entry.fieldValue(field, valueIn(field))
      : valueIn(field)(entry.object()))
  const labelsOf = kind.isConverted
    ? (entry: Entry) => objectOf(entry).metadata.labels
    : (entry: Entry) => entry.labels
  const matches =
    byLabels || byFields
      ? (entry: Entry): boolean =>
          (!byLabels || matchesLabels(labels, labelsOf(entry))) &&
          (!byFields || matchesFields(fields, (field) => fieldOf(entry, field)))
      : undefined
  const indexed = indexedFieldOf(resource)
  const exacts = fields.filter(({ operator }) => operator === '=')
  const exact = exacts.find(({ field }) => field === indexed) ?? exacts[0]
  const selected: SelectedValue | undefined =
    exact === undefined || kind.isConverted
      ? undefined
      : {
          ...exact,
          valueOf: (entry) => fieldOf(entry, exact.field),
          isIndexed: exact.field === indexed,
        }
  return { labels, fields, matches, name: exactFieldMatch(fields, 'metadata.name'), selected }
}

function faults(options: ListOptions, watch: boolean): FieldError[] {
  const errors: FieldError[] = []
  const forbid = (field: string, why: string): void => {
    errors.push({ field, type: 'FieldValueForbidden', message: `Forbidden: ${why}` })
  }
  const { match, resourceVersion, sendInitialEvents } = options
  if (sendInitialEvents !== undefined) {
    if (!watch) forbid('sendInitialEvents', 'sendInitialEvents is forbidden for list')
    else if (match !== 'NotOlderThan') {
      forbid(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      )
    }
    return errors
  }
  if (match === '') return errors
  if (watch) {
    forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden for watch')
  }
  if (resourceVersion === '') {
    forbid(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden unless resourceVersion is provided',
    )
  }
  if (options.continue !== '') {
    forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided')
  }
  if (match === 'Exact' && resourceVersion === '0') {
    forbid(
      'resourceVersionMatch',
      'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    )
  }
  return errors
}

/** Parses and checks; throws 400 or 422 StatusErrors with upstream's texts. */
export function listOptionsOf(
  resource: Resource,
  query: URLSearchParams,
  at: { dialect: Dialect; watch: boolean },
): ListOptions {
  const match = query.get('resourceVersionMatch') ?? ''
  const resourceVersion = query.get('resourceVersion') ?? ''
  if (resourceVersion !== '') parseRevision(resourceVersion)
  const group = `meta.${at.dialect.apiDomain}`
  const refuse = (errors: FieldError[]): void => {
    if (errors.length > 0) throw invalid({ group, kind: 'ListOptions' }, '', errors)
  }
  if (match !== '' && match !== 'Exact' && match !== 'NotOlderThan') {
    refuse([
      {
        field: 'resourceVersionMatch',
        type: 'FieldValueNotSupported',
        message: `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
      },
    ])
  }
  const limit = parseInteger(query.get('limit')) ?? 0
  const options: ListOptions = {
    selection: selectionOf(resource, query),
    resourceVersion,
    match: match as ListOptions['match'],
    limit: Math.max(0, limit),
    continue: query.get('continue') ?? '',
    allowWatchBookmarks: queryFlag(query, 'allowWatchBookmarks'),
    sendInitialEvents: query.has('sendInitialEvents')
      ? queryFlag(query, 'sendInitialEvents')
      : undefined,
    timeoutSeconds: parseInteger(query.get('timeoutSeconds')),
  }
  refuse(faults(options, at.watch))
  if (options.continue !== '' && resourceVersion !== '' && resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  return options
}

/** A resourceVersion as a number; the error for anything else is upstream's. */
export function parseRevision(text: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw badRequest(
    `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
  )
}
