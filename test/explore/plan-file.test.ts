import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { planText, readPlanFile } from '../../explore/plan-file.ts'
import { planKinds } from '../../explore/planned-fault.ts'
import type { PlannedFault } from '../../explore/planned-fault.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const at = { verb: 'create', resource: 'secrets', namespace: 'default', name: 'web-*', nth: 2 }
const faults: PlannedFault[] = [
  { kind: 'kill-before', at },
  { kind: 'refuse', at, code: 503 },
  { kind: 'unseen', resource: 'caches.example.com', from: 1, to: 2 },
  { kind: 'stale-restart', step: 2, view: 0, ms: 1000 },
  { kind: 'slow', ms: 300 },
]

function faultsOf(text: string): readonly string[] {
  const file = join(temporaryFolder('plan'), 'plan.yaml')
  writeFileSync(file, text)
  try {
    readPlanFile(file)
  } catch (error) {
    if (error instanceof ClusterError)
      return error.details.map((one) => one.replace(/^.*plan\.yaml/, 'plan.yaml'))
  }
  return []
}

it('a plan that is written is read as it was', () => {
  const folder = temporaryFolder('plans')
  const file = join(folder, 'findings', '..', 'plan.yaml')
  const story = join(folder, 'story.yaml')
  const [kind = 'kill'] = Object.keys(planKinds) as (keyof typeof planKinds)[]
  const plan = { plan: { kind, faults }, story, values: undefined }
  const text = planText(plan, { file, found: ['something'] })
  expect(text).toContain('story: story.yaml')
  writeFileSync(file, text)
  expect(readPlanFile(file)).toEqual(plan)
})

it('a plan of a value is read as it was', () => {
  const folder = temporaryFolder('plans')
  const file = join(folder, 'plan.yaml')
  const change = { path: ['labels'], value: {}, why: 'one key less' }
  const plan = { plan: { kind: 'values' as const, faults: [], change } }
  const whole = { ...plan, story: join(folder, 'story.yaml'), values: 'caches.example.com' }
  writeFileSync(file, planText(whole, { file, found: [] }))
  expect(readPlanFile(file)).toEqual(whole)
})

it('names the line of a fault that lacks something', () => {
  expect(faultsOf('story: story.yaml\nkind: kill\nfaults:\n  - kind: kill-after\n')).toEqual([
    'plan.yaml:4: faults[0]: a fault kill-after needs at',
  ])
  expect(faultsOf('story: story.yaml\nkind: kill\nfaults:\n  - kind: kil\n')).toEqual([
    expect.stringMatching(/^plan\.yaml:4: faults\[0\]\.kind: must be one of kill-before/),
  ])
})
