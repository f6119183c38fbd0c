/**
 * Event: stored in the core form, judged by the version of the request. The core group keeps its old, lenient rules;
 * the events group is strict (upstream: pkg/apis/core/validation/events.go).
 */
import type { Dialect } from '../../../api/dialect.ts'
import type { Event } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { qualifiedName, subdomain } from '../../../machinery/validation/names.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { semanticEqual, validateImmutable, validateSubdomain } from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'

const maxNameBytes = 128
const maxNoteBytes = 1024

function isStrict({ resource }: StrategyContext): boolean {
  return resource.package !== 'core/v1'
}

/** An event belongs to the namespace of what it is about; about cluster-scoped objects, to a namespace of the system. */
function validateNamespace(event: Event, root: FieldPath, dialect: Dialect): void {
  const { namespace = '' } = event.metadata
  const about = event.involvedObject?.namespace ?? ''
  const homes = event.eventTime ? ['default', dialect.systemNamespace] : ['default']
  const fits = about === '' ? homes.includes(namespace) : event.eventTime || about === namespace
  if (fits) return
  root.child('involvedObject').child('namespace').invalid(about, 'does not match event.namespace')
}

function validateLength(text: string, at: FieldPath, max: number): void {
  if (Buffer.byteLength(text) > max) at.invalid('', `can have at most ${max} characters`)
}

/** What every event must meet; one with a time is of the new kind and must say more. */
function validateAny(event: Event, root: FieldPath, context: StrategyContext): void {
  validateNamespace(event, root, context.dialect)
  if (event.eventTime) {
    const { reportingComponent = '', message = '' } = event
    const reporterAt = root.child(isStrict(context) ? 'reportingController' : 'reportingComponent')
    if (reportingComponent === '') reporterAt.required()
    reporterAt.invalidEach(reportingComponent, qualifiedName(reportingComponent))
    for (const field of ['reportingInstance', 'action', 'reason'] as const) {
      const text = event[field] ?? ''
      if (text === '') root.child(field).required()
      validateLength(text, root.child(field), maxNameBytes)
    }
    validateLength(message, root.child('message'), maxNoteBytes)
  }
  validateSubdomain(event.metadata.namespace ?? '', root.child('namespace'))
}

function validateSeries({ series }: Event, root: FieldPath): void {
  if (!series) return
  if ((series.count ?? 0) < 2) root.child('series.count').invalid('', 'should be at least 2')
  if (!series.lastObservedTime) root.child('series.lastObservedTime').required()
}

/** Fields that only the core group's clients fill in; empty strings, zero and the zero time are unset. */
function isSet(
  event: Event,
  field: 'firstTimestamp' | 'lastTimestamp' | 'count' | 'source',
): boolean {
  if (field !== 'source') return Boolean(event[field])
  return Boolean(event.source?.component || event.source?.host)
}

function validateNew(event: Event, root: FieldPath, context: StrategyContext): void {
  validateAny(event, root, context)
  if (!isStrict(context)) return
  const { name = '' } = event.metadata
  root.child('metadata').child('name').invalidEach(name, subdomain(name))
  validateSeries(event, root)
  if (!event.eventTime) root.child('eventTime').required()
  const { type = '' } = event
  if (type !== 'Normal' && type !== 'Warning') {
    root.child('type').invalid('', `has invalid value: ${type}`)
  }
  for (const field of ['firstTimestamp', 'lastTimestamp', 'count', 'source'] as const) {
    if (isSet(event, field)) root.child(field).invalid('', 'needs to be unset')
  }
}

/** In the order of the reports; everything but the series stays. */
const fixedFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const
const textFields: readonly string[] = ['reason', 'message', 'type', 'action', 'reportingInstance']

function validateChange(
  { object: event, old }: Change<Event>,
  root: FieldPath,
  context: StrategyContext,
): void {
  validateAny(event, root, context)
  if (!isStrict(context)) return
  if (!semanticEqual(event.series, old.series)) validateSeries(event, root)
  for (const field of fixedFields) {
    const isText = textFields.includes(field) || field === 'reportingComponent'
    const unset = isText ? '' : field === 'count' ? 0 : null
    const [now, before] = [event[field] ?? unset, old[field] ?? unset]
    const shownName = field === 'reportingComponent' ? 'reportingController' : field
    validateImmutable({ now, before }, root.child(shownName))
  }
}

export const eventStrategy: Strategy = {
  nameForm: 'path',
  validate: createValidation(validateNew),
  validateUpdate: updateValidation(validateChange),
}
