/** StorageVersionMigration (upstream: pkg/apis/storagemigration/validation, pkg/registry/storagemigration). */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { qualifiedName, regexMessage } from '../../../machinery/validation/names.ts'
import { goJson, validateOneOf } from '../rules/field-rules.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'

interface Condition {
  readonly type?: string
  readonly status?: string
  readonly lastUpdateTime?: string
  readonly reason?: string
  readonly message?: string
}

interface Migration extends KubeObject {
  readonly spec?: {
    readonly resource?: Readonly<Partial<Record<'group' | 'version' | 'resource', string>>>
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly resourceVersion?: string
  }
}

const statuses = ['False', 'True', 'Unknown']
const maxReasonBytes = 1024
const maxMessageBytes = 32 * 1024
const reasonPattern = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'
const reasonMatcher = new RegExp(`^${reasonPattern}$`)
const reasonMismatch = regexMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonPattern,
  ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'],
)

function validateMigration({ spec }: Migration, root: FieldPath): void {
  const at = root.child('spec').child('resource')
  for (const field of ['resource', 'version'] as const) {
    if (!spec?.resource?.[field]) at.child(field).required(`${field} is required`)
  }
}

function validateChange({ object, old }: Change<Migration>, root: FieldPath): void {
  for (const field of ['group', 'version', 'resource'] as const) {
    const [now = '', before = ''] = [object.spec?.resource?.[field], old.spec?.resource?.[field]]
    // Upstream names the fields alone.
    if (now !== before) root.child(field).invalid(now, 'field is immutable')
  }
}

function validateCondition(condition: Condition, at: FieldPath): void {
  const { type = '', status = '', lastUpdateTime, reason = '', message = '' } = condition
  at.child('type').invalidEach(type, qualifiedName(type))
  validateOneOf(status, statuses, at.child('status'))
  if (!lastUpdateTime) at.child('lastTransitionTime').required()
  const reasonAt = at.child('reason')
  if (reason === '') reasonAt.required()
  else {
    if (!reasonMatcher.test(reason)) reasonAt.invalid(reason, reasonMismatch)
    if (reason.length > maxReasonBytes) reasonAt.tooLong(maxReasonBytes)
  }
  if (message.length > maxMessageBytes) at.child('message').tooLong(maxMessageBytes)
}

function has({ status }: Migration, type: string): boolean {
  return (status?.conditions ?? []).some((one) => one.type === type && one.status === 'True')
}

function validateResourceVersion({ object, old }: Change<Migration>, at: FieldPath): void {
  const text = object.status?.resourceVersion ?? ''
  if (text !== '' && !/^[+-]?\d+$/.test(text)) {
    const why = `failed to parse resource version "${text}": strconv.ParseInt: parsing "${text}": invalid syntax`
    at.invalid(text, why)
  } else if (Number(text) < 0) at.invalid(Number(text), 'must be greater than or equal to 0')
  const before = old.status?.resourceVersion ?? ''
  if (before !== '' && before !== text) at.invalid(text, 'cannot be updated')
}

function validateStatus(change: Change<Migration>, root: FieldPath): void {
  const { object, old } = change
  const at = root.child('status')
  validateResourceVersion(change, at.child('resourceVersion'))
  const conditionsAt = at.child('conditions')
  const conditions = object.status?.conditions ?? []
  const seen = new Set<string>()
  for (const [i, condition] of conditions.entries()) {
    const { type = '' } = condition
    if (seen.has(type)) conditionsAt.index(i).child('type').duplicate(type)
    seen.add(type)
    validateCondition(condition, conditionsAt.index(i))
  }
  const refuse = (why: string): void => conditionsAt.invalid(goJson(conditions), why)
  const [succeeds, fails, runs] = [
    has(object, 'Succeeded'),
    has(object, 'Failed'),
    has(object, 'Running'),
  ]
  if (succeeds && fails)
    refuse('Both success and failed conditions cannot be true at the same time')
  if (succeeds && runs) refuse('Running condition cannot be true when success condition is true')
  if (fails && runs) refuse('Running condition cannot be true when failed condition is true')
  if (has(old, 'Succeeded') && !succeeds) {
    refuse('Success condition cannot be set to false once it is true')
  }
  if (has(old, 'Failed') && !fails)
    refuse('Failed condition cannot be set to false once it is true')
}

export const storageVersionMigrationStrategy: Strategy = {
  prepareForCreate(object) {
    object['status'] = {}
  },
  ...validation<Migration>(validateMigration, validateChange),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<Migration>(validateStatus),
    },
  },
}
