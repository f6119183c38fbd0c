/** LeaseCandidate (upstream: pkg/apis/coordination/validation). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { configKey } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateImmutable } from '../rules/field-rules.ts'
import { oldestVersionFirst, validateElection } from './election-rules.ts'

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

function validateCandidate(object: KubeObject, root: FieldPath): void {
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
}

export const leaseCandidateStrategy: Strategy = {
  nameForm: 'path',
  allowUnconditionalUpdate: false,
  ...validation(validateCandidate, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec').child('leaseName')
    const now = (object['spec'] as CandidateSpec | undefined)?.leaseName
    const before = (old['spec'] as CandidateSpec | undefined)?.leaseName
    validateImmutable({ now, before }, at)
  }),
}
