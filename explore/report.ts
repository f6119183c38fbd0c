/** Report: the findings of an exploration as files, text and JSON. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { ExploreReport } from './explore.ts'
import { describeFinding } from './finding.ts'
import type { Finding } from './finding.ts'
import { isFound } from './judge-plan.ts'
import type { PlanResult } from './judge-plan.ts'
import type { Plan } from './make-plans.ts'
import { planText } from './plan-file.ts'
import { describeFault } from './planned-fault.ts'
import type { Reference } from './reference.ts'
import { timelinesOf, timelineText } from './timeline.ts'
import type { Timelines } from './timeline.ts'
import { describeChange } from './values/value-plans.ts'

const mostInName = 60

export function titleOf({ plan }: Pick<PlanResult, 'plan'>): string {
  if (plan.change !== undefined) return describeChange(plan.change)
  return plan.faults.map(describeFault).join('; ')
}

function fileNameOf(result: PlanResult, number: number): string {
  const text = titleOf(result)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, mostInName)
    .replaceAll(/^-|-$/g, '')
  return `${String(number).padStart(2, '0')}-${text}`
}

/** A finding for programs: beside its plan file with the end `.json`, and in `-o json`. */
export interface FindingReport {
  readonly title: string
  /** As in the plan file. */
  readonly plan: Plan
  /** The CustomResourceDefinition of a plan that changes a value. */
  readonly values?: string
  /** Absolute path. */
  readonly story: string
  readonly findings: readonly (Finding & { readonly text: string })[]
  readonly seconds: { readonly reference: number; readonly plan: number }
  readonly timelines: Timelines
}

function findingReport(
  { plan, findings, run }: PlanResult,
  { reference, referenceSeconds }: FoundIn,
  { story, values }: Pick<FindingsPlace, 'story' | 'values'>,
): FindingReport {
  return {
    title: titleOf({ plan }),
    plan,
    ...(values === undefined ? {} : { values }),
    story: resolve(story),
    findings: findings.map((one) => ({ ...one, text: describeFinding(one) })),
    seconds: { reference: referenceSeconds, plan: run.seconds },
    timelines: timelinesOf(reference.traffic, run.traffic),
  }
}

interface FoundIn {
  readonly reference: Reference
  readonly referenceSeconds: number
}

interface FindingsPlace {
  readonly folder: string
  readonly story: string
  readonly values?: string | undefined
}

/** Writes a plan file, a timeline and a report for each finding. Returns the plan files, in the order of `results`. */
export function writeFindings(
  { results, reference, referenceSeconds }: Omit<ExploreReport, 'unfit' | 'leftOut'>,
  place: FindingsPlace,
): readonly string[] {
  const found = results.filter(isFound)
  if (found.length === 0 || reference === undefined) return []
  mkdirSync(place.folder, { recursive: true })
  return found.map((result, index) => {
    const stem = join(place.folder, fileNameOf(result, index + 1))
    const file = `${stem}.yaml`
    const report = findingReport(result, { reference, referenceSeconds }, place)
    const { plan, story, title, timelines } = report
    const lines = report.findings.map(({ text }) => text)
    writeFileSync(file, planText({ plan, story, values: place.values }, { file, found: lines }))
    const told = timelineText(timelines)
    writeFileSync(`${stem}.txt`, [title, ...lines, '', ...told, ''].join('\n'))
    writeFileSync(`${stem}.json`, `${JSON.stringify(report, undefined, 2)}\n`)
    return file
  })
}

/** For scripts. `files` are those of the findings. */
export function reportJson(report: ExploreReport, files: readonly string[]): string {
  const { unfit, reference, referenceSeconds, results, leftOut } = report
  let next = 0
  const document = {
    reference: {
      seconds: referenceSeconds,
      writes: reference?.traffic.writes.length ?? 0,
      findings: unfit,
    },
    plans: results.map((result) => ({
      kind: result.plan.kind,
      title: titleOf(result),
      outcome: result.outcome,
      seconds: result.run.seconds,
      findings: result.findings.map((one) => ({ ...one, text: describeFinding(one) })),
      ...(isFound(result) && reference !== undefined
        ? {
            file: files[next++],
            plan: result.plan,
            timelines: timelinesOf(reference.traffic, result.run.traffic),
          }
        : {}),
    })),
    leftOut,
  }
  return `${JSON.stringify(document)}\n`
}

/** The result in a few lines. */
export function summaryOf(report: ExploreReport, files: readonly string[]): string {
  const { results, leftOut, unfit } = report
  if (unfit.length > 0) return ''
  const count = (outcome: PlanResult['outcome']): number =>
    results.filter((one) => one.outcome === outcome).length
  const seconds = results.map(({ run }) => run.seconds).sort((one, other) => one - other)
  const median = seconds[Math.floor(seconds.length / 2)] ?? 0
  const parts = [
    `${count('found')} of ${results.length} plans found something`,
    ...(count('once') > 0 ? [`${count('once')} only once`] : []),
    ...(count('not-met') > 0 ? [`${count('not-met')} did not come about`] : []),
    ...(leftOut > 0 ? [`${leftOut} left out`] : []),
    `${median.toFixed(1)} s a plan`,
  ]
  const told = results.filter(isFound).flatMap((result, index) => {
    const [first, ...more] = result.findings.map(describeFinding)
    const rest = more.length === 0 ? '' : `, and ${more.length} more`
    return [`${titleOf(result)}`, `  ${first ?? ''}${rest}`, `  ${files[index] ?? ''}`]
  })
  const look =
    files[0] === undefined
      ? []
      : [
          `to see both runs: skiff up --console, Lab, Findings: a .json file in ${dirname(files[0])}`,
        ]
  return [...told, parts.join(', '), ...look, ''].join('\n')
}
