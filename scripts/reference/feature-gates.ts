/** The page of the feature gates. */
import { featureGates, formerFeatureGates } from '../../components/api/feature-gates.ts'
import type { FeatureGate, GateHistory } from '../../components/api/feature-gates.ts'
import { components } from './components.ts'
import { code, codes, page, table } from './markdown.ts'

const stages = ['alpha', 'beta', 'ga', 'deprecated', 'removed'] as const

function releases(history: GateHistory): string[] {
  return stages.map((stage) => history[stage] ?? '–')
}

export function featureGatesPage(): string {
  const taking = components.filter(({ flags }) => Object.hasOwn(flags, 'feature-gates'))
  const gates = Object.entries<FeatureGate>(featureGates)
  return page(
    'Feature gates',
    `${codes(taking.map(({ name }) => name))} take \`--feature-gates=NAME=true,NAME=false\`. ` +
      '`AllAlpha` and `AllBeta` set all gates of a stage; a gate that is named itself wins.',
    'A gate of a stable feature is locked: setting its default warns, setting the other value stops the start. ' +
      'The other columns are the releases in which the gate reached each stage.',
    table(
      ['gate', 'stage', 'default', 'locked', ...stages],
      gates.map(([name, { stage, default: value, isLocked, history }]) => [
        code(name),
        stage,
        String(value),
        isLocked ? 'yes' : 'no',
        ...releases(history),
      ]),
    ),
    '## Former gates',
    'These features are always on. Naming their gates is an error, as for any unknown gate.',
    table(
      ['gate', ...stages],
      Object.entries<GateHistory>(formerFeatureGates).map(([name, history]) => [
        code(name),
        ...releases(history),
      ]),
    ),
  )
}
