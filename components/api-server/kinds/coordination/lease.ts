/** Lease and LeaseCandidate (upstream: pkg/apis/coordination). */
import type { Lease, LeaseSpec } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { configKey, qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { mustNotBeNegative, validateImmutable } from '../rules/field-rules.ts'

const oldestVersionFirst = 'OldestEmulationVersion'

function validateElection(strategy: string, at: FieldPath): void {
  if (strategy.includes('/')) at.child('strategy').invalidEach(strategy, qualifiedName(strategy))
  else if (strategy !== oldestVersionFirst) {
    at.child('strategy').unsupported(strategy, [oldestVersionFirst])
  }
}

function validateLease(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec')
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder }: LeaseSpec =
    (object as Lease).spec ?? {}
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    at.child('leaseDurationSeconds').invalid(leaseDurationSeconds, 'must be greater than 0')
  }
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
    at.child('leaseTransitions').invalid(leaseTransitions, mustNotBeNegative)
  }
  if (typeof strategy === 'string') validateElection(strategy, at.child('strategy'))
  if (preferredHolder && !strategy) {
    at.child('preferredHolder').forbidden('may only be specified if `strategy` is defined')
  }
  return at.errors
}

/** Coordinated election is off by default: its fields stay only where they were. */
function dropElectionFields(object: KubeObject, old?: KubeObject): void {
  const { spec } = object as Lease
  const before = (old as Lease | undefined)?.spec
  for (const field of ['strategy', 'preferredHolder'] as const) {
    if (spec && before?.[field] === undefined) delete spec[field]
  }
}

export const leaseStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  prepareForCreate: (object) => dropElectionFields(object),
  prepareForUpdate: dropElectionFields,
  validate: validateLease,
  validateUpdate: validateLease,
}

/** The fields of both served forms of the spec. */
interface CandidateSpec {
  readonly leaseName?: string
  readonly emulationVersion?: string
  readonly binaryVersion?: string
  readonly strategy?: string
}

const semanticVersion =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/

/** Numbers to compare; undefined for what is no version. */
function versionOf(text: string | undefined): readonly number[] | undefined {
  return semanticVersion
    .exec(text ?? '')
    ?.slice(1, 4)
    .map(Number)
}

function isOlder(a: readonly number[], b: readonly number[]): boolean {
  const difference = a.map((part, i) => part - (b[i] ?? 0)).find((part) => part !== 0)
  return difference !== undefined && difference < 0
}

function validateCandidate(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { name = '' } = object.metadata
  root.child('metadata').child('name').invalidEach(name, configKey(name))
  const at = root.child('spec')
  const spec = (object['spec'] ?? {}) as CandidateSpec
  if (!spec.leaseName) at.child('leaseName').required()
  for (const field of ['emulationVersion', 'binaryVersion'] as const) {
    const text = spec[field] ?? ''
    if (text !== '' && versionOf(text) === undefined) {
      at.child(field).invalid(text, 'must be a valid semantic version')
    }
  }
  const binary = versionOf(spec.binaryVersion)
  const emulation = versionOf(spec.emulationVersion)
  if (binary && emulation && isOlder(binary, emulation)) {
    const why = 'must be greater than or equal to `emulationVersion`'
    at.child('binaryVersion').invalid(spec.binaryVersion, why)
  }
  const { strategy } = spec
  if (!strategy) at.child('strategy').required()
  else {
    if (strategy === oldestVersionFirst) {
      const why = "must be specified when `strategy` is 'OldestEmulationVersion'"
      if (!binary?.some(Boolean)) at.child('binaryVersion').required(why)
      if (!emulation?.some(Boolean)) at.child('emulationVersion').required(why)
    }
    validateElection(strategy, at.child('strategy'))
  }
  return root.errors
}

export const leaseCandidateStrategy: Strategy = {
  nameForm: 'path',
  allowUnconditionalUpdate: false,
  validate: validateCandidate,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec').child('leaseName')
    const now = (object['spec'] as CandidateSpec | undefined)?.leaseName
    const before = (old['spec'] as CandidateSpec | undefined)?.leaseName
    validateImmutable({ now, before }, at)
    return [...validateCandidate(object), ...at.errors]
  },
}
