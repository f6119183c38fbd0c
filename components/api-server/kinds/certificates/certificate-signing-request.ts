/** CertificateSigningRequest: who asks is stamped on it, and only sub-resources change it (upstream: pkg/registry/certificates). */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../../api/generated/types.ts'
import { timestamp } from '../../../component-base/clock.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goBytes } from '../../../machinery/values/go-syntax.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy, StrategyContext, SubresourceStrategy } from '../strategy.ts'
import { validateUsages } from './certificate-usages.ts'
import { certificatesFault, signingRequestFault } from '../../x509/pem.ts'
import { validateSignerName } from './signer-name.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'

/** Conditions that can only be true, and cannot be removed. */
const finalTypes = ['Approved', 'Denied', 'Failed']
const approvalTypes = ['Approved', 'Denied']
const allStatuses = ['False', 'True', 'Unknown']
const shortestLifetimeSeconds = 600

function asText(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('latin1')
}

function conditionsOf(object: KubeObject | undefined): CertificateSigningRequestCondition[] {
  return (object as CertificateSigningRequest | undefined)?.status?.conditions ?? []
}

function ofType(object: KubeObject, type: string): CertificateSigningRequestCondition[] {
  return conditionsOf(object).filter((condition) => condition.type === type)
}

function validateSpec(
  { spec }: CertificateSigningRequest,
  old: CertificateSigningRequest | undefined,
  { at, dialect }: { at: FieldPath; dialect: Dialect },
): void {
  // The approval and the certificate are updates too, and a signature takes longer to verify than all the rest.
  const isVerified = old !== undefined && old.spec.request === spec.request
  const fault = isVerified ? undefined : signingRequestFault(asText(spec.request))
  if (fault !== undefined) at.child('request').invalid(goBytes(spec.request), fault)
  validateUsages(spec.usages ?? [], old?.spec.usages, at.child('usages'))
  const signerAt = at.child('signerName')
  const legacySigner = labelKey(dialect, '', 'legacy-unknown')
  if (spec.signerName === legacySigner && old?.spec.signerName !== legacySigner) {
    signerAt.invalid(spec.signerName, 'the legacy signerName is not allowed via this API version')
  } else validateSignerName(spec.signerName, signerAt)
  const { expirationSeconds: lifetime } = spec
  if (typeof lifetime === 'number' && lifetime < shortestLifetimeSeconds) {
    at.child('expirationSeconds').invalid(
      lifetime,
      'may not specify a duration less than 600 seconds (10 minutes)',
    )
  }
}

/** Faults that the stored object has already are let pass. */
function validateConditions(object: KubeObject, old: KubeObject | undefined, at: FieldPath): void {
  const before = conditionsOf(old).map(({ type }) => type)
  const toleratesBoth = approvalTypes.every((type) => before.includes(type))
  const toleratesDuplicates = new Set(before).size < before.length
  const seen = new Set<string>()
  for (const [i, { type, status }] of conditionsOf(object).entries()) {
    const typeAt = at.index(i).child('type')
    if (!type && !before.includes('')) typeAt.required()
    const statuses = finalTypes.includes(type) ? ['True'] : allStatuses
    if (!status) at.index(i).child('status').required()
    else if (!statuses.includes(status)) at.index(i).child('status').unsupported(status, statuses)
    const other = approvalTypes.find((approval) => approval !== type)
    if (!toleratesBoth && approvalTypes.includes(type) && seen.has(other ?? '')) {
      typeAt.invalid(type, 'Approved and Denied conditions are mutually exclusive')
    }
    if (!toleratesDuplicates && seen.has(type)) typeAt.duplicate(type)
    seen.add(type)
  }
}

function validateCertificate(object: KubeObject, old: KubeObject | undefined, at: FieldPath): void {
  const now = (object as CertificateSigningRequest).status?.certificate ?? ''
  const before = (old as CertificateSigningRequest | undefined)?.status?.certificate ?? ''
  if (now === '' || now === before) return
  if (before !== '' && certificatesFault(asText(before)) !== undefined) return
  const fault = certificatesFault(asText(now))
  if (fault !== undefined) at.invalid('<certificate data>', fault)
}

function validateState(
  { object, old }: { readonly object: KubeObject; readonly old: KubeObject | undefined },
  root: FieldPath,
  { dialect }: StrategyContext,
): void {
  const before = old as CertificateSigningRequest | undefined
  const at = root.child('spec')
  validateSpec(object as CertificateSigningRequest, before, { at, dialect })
  const status = root.child('status')
  validateConditions(object, old, status.child('conditions'))
  validateCertificate(object, old, status.child('certificate'))
}

/** What one way of updating may change besides metadata. */
interface Permission {
  readonly approval?: boolean
  readonly certificate?: boolean
}

function validateChange(
  { object, old }: Change<KubeObject>,
  status: FieldPath,
  { approval, certificate }: Permission,
): void {
  const conditionsAt = status.child('conditions')
  const growth = (type: string) => ofType(object, type).length - ofType(old, type).length
  for (const type of finalTypes) {
    if (growth(type) >= 0) continue
    conditionsAt.forbidden(`updates may not remove a condition of type "${type}"`)
  }
  for (const type of approval === true ? [] : approvalTypes) {
    if (growth(type) <= 0) continue
    conditionsAt.forbidden(`updates may not add a condition of type "${type}"`)
  }
  const now = (object as CertificateSigningRequest).status?.certificate ?? ''
  const before = (old as CertificateSigningRequest).status?.certificate ?? ''
  if (now !== before) {
    const at = status.child('certificate')
    if (certificate !== true) at.forbidden('updates may not set certificate content')
    else if (before !== '') at.forbidden('updates may not modify existing certificate content')
  }
}

function validateUpdateWith(permission: Permission): NonNullable<Strategy['validateUpdate']> {
  return updateValidation((change: Change<KubeObject>, root, context) => {
    validateState(change, root, context)
    validateChange(change, root.child('status'), permission)
  })
}

/** Fills in missing times; a condition that was there with the same status keeps its transition. */
function fillTimes(object: KubeObject, old: KubeObject, nowMs: number): void {
  const now = timestamp(nowMs)
  for (const condition of conditionsOf(object)) {
    condition.lastUpdateTime ||= now
    condition.lastTransitionTime ||=
      ofType(old, condition.type).find(
        ({ status, lastTransitionTime }) => status === condition.status && lastTransitionTime,
      )?.lastTransitionTime ?? now
  }
}

/** The stored conditions of the type, where the update neither adds nor removes any. */
function keepConditions(object: KubeObject, old: KubeObject, type: string): void {
  const before = ofType(old, type)
  if (before.length !== ofType(object, type).length) return
  const conditions = conditionsOf(object)
  for (const [i, condition] of conditions.entries()) {
    const kept = condition.type === type ? before.shift() : undefined
    if (kept !== undefined) conditions[i] = { ...kept }
  }
}

const approval: SubresourceStrategy = {
  prepareForUpdate(object, old, { nowMs }) {
    restoreAllButStatus(object, old)
    fillTimes(object, old, nowMs)
    const { conditions: _, ...before } = (old as CertificateSigningRequest).status ?? {}
    const conditions = conditionsOf(object)
    object['status'] = conditions.length === 0 ? before : { ...before, conditions }
  },
  validateUpdate: validateUpdateWith({ approval: true }),
}

const status: SubresourceStrategy = {
  prepareForUpdate(object, old, { nowMs }) {
    restoreAllButStatus(object, old)
    for (const type of approvalTypes) keepConditions(object, old, type)
    fillTimes(object, old, nowMs)
  },
  validateUpdate: validateUpdateWith({ certificate: true }),
}

export const certificateSigningRequestStrategy: Strategy = {
  nameForm: 'path',
  prepareForCreate(object, { user }) {
    const { spec } = object as CertificateSigningRequest
    delete spec.uid
    delete spec.groups
    delete spec.extra
    spec.username = user.name
    if (user.uid) spec.uid = user.uid
    if (user.groups.length > 0) spec.groups = [...user.groups]
    const extra = Object.entries(user.extra ?? {})
    if (extra.length > 0) {
      spec.extra = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]))
    }
    object['status'] = {}
  },
  prepareForUpdate(object, old) {
    object['spec'] = (old as CertificateSigningRequest).spec
    object['status'] = (old as CertificateSigningRequest).status
  },
  validate: createValidation((object: KubeObject, root, context) => {
    validateState({ object, old: undefined }, root, context)
  }),
  validateUpdate: validateUpdateWith({}),
  subresources: { approval, status },
}
