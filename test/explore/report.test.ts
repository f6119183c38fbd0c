import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Traffic } from '../../explore/gate/traffic.ts'
import type { Exchange } from '../../explore/gate/traffic.ts'
import type { ExploreReport } from '../../explore/explore.ts'
import type { PlannedFault } from '../../explore/planned-fault.ts'
import { readPlanFile } from '../../explore/plan-file.ts'
import { readFinding } from '../../console/page/views/lab/finding/read-finding.ts'
import { summaryOf, writeFindings } from '../../explore/report.ts'
import type { FindingReport } from '../../explore/report.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const at = { verb: 'create', resource: 'secrets', namespace: 'default', name: 'web-*', nth: 1 }

function trafficOf(...exchanges: readonly Partial<Exchange>[]): Traffic {
  const traffic = new Traffic()
  traffic.marks.push({ atMs: 5, step: 1, text: 'step 1: create Cache web' })
  for (const [index, more] of exchanges.entries())
    traffic.exchanges.push({
      atMs: 10 + index,
      step: 1,
      point: { ...at, nth: index + 1 },
      status: 201,
      fault: undefined,
      isQuiet: false,
      changesNothing: false,
      takesOldView: false,
      ...more,
    })
  return traffic
}

it('writes a finding as a plan file that can be read again, and as a report with both timelines', () => {
  const folder = temporaryFolder('findings')
  const faults: PlannedFault[] = [{ kind: 'kill-after', at }]
  const plan = { kind: 'kill' as const, faults }
  const traffic = trafficOf({ status: undefined, fault: 'killed after' }, {})
  const nothing = { states: [], resources: new Set<string>(), completeFrom: 0, findings: [] }
  const run = { ...nothing, traffic, unfired: [], seconds: 2 }
  const object = 'Secret default/web-* #2'
  const explored: ExploreReport = {
    reference: { ...nothing, traffic: trafficOf({}), ignored: [] },
    referenceSeconds: 1,
    results: [
      { plan, outcome: 'passed', findings: [], run },
      { plan, outcome: 'found', findings: [{ kind: 'made-twice', object, step: 1 }], run },
    ],
    unfit: [],
    leftOut: 0,
  }
  const files = writeFindings(explored, { folder, story: join(folder, 'story.yaml') })
  const [file = ''] = files
  expect(readPlanFile(file).plan).toEqual(plan)
  const report = JSON.parse(readFileSync(file.replace(/yaml$/, 'json'), 'utf8')) as FindingReport
  expect(readFinding(JSON.stringify(report))).toMatchObject({ title: report.title })
  expect(summaryOf(explored, files)).toMatch(
    `to see both runs: skiff up --console, Lab, Findings: a .json file in ${folder}\n`,
  )
  const mark = { atMs: 5, step: 1, text: 'step 1: create Cache web' }
  const text = 'create secrets default/web-*'
  expect(report).toEqual({
    title: `killed after: ${text}`,
    plan,
    story: join(folder, 'story.yaml'),
    findings: [
      {
        kind: 'made-twice',
        object,
        step: 1,
        text: 'after step 1: Secret default/web-* was made twice',
      },
    ],
    seconds: { reference: 1, plan: 2 },
    timelines: {
      reference: [mark, { atMs: 10, step: 1, text, request: at, status: 201 }],
      plan: [
        mark,
        { atMs: 10, step: 1, text, request: at, fault: 'killed after' },
        { atMs: 11, step: 1, text, request: { ...at, nth: 2 }, status: 201 },
      ],
      rows: [{ reference: 0, plan: 0 }, { reference: 1, plan: 1 }, { plan: 2 }],
    },
  })
})
