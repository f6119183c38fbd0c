import { expect, test } from 'vitest'
import { silentLog } from '../../../components/component-base/log.ts'
import { createJoinReporter } from '../../../components/node-agent/join/join-progress.ts'
import type { JoinReport } from '../../../components/node-agent/join/join-progress.ts'

/** What of these reports is told, as `step state`. */
function told(reports: readonly JoinReport[]): string[] {
  const lines: string[] = []
  const write = ({ step, state }: JoinReport): void => void lines.push(`${step} ${state}`)
  const report = createJoinReporter({ log: silentLog, node: 'n', write })
  for (const one of reports) report(one)
  return lines
}

const running = { step: 'discovery', state: 'running' } as const
const discovered = { step: 'discovery', state: 'done' } as const
const unsigned = { step: 'signature', state: 'failed', reason: 'unknown', retrying: true } as const
const signed = { step: 'signature', state: 'done' } as const

test('trouble that repeats itself is told once, without the way back to it', () => {
  const round = [running, discovered, unsigned]
  expect(told([...round, ...round, ...round])).toEqual([
    'discovery running',
    'discovery done',
    'signature failed',
  ])
})

test('other trouble is told, and the end of trouble is', () => {
  const unreachable = { step: 'discovery', state: 'failed', reason: 'refused' } as const
  const reports = [unsigned, running, unreachable, running, discovered, signed]
  expect(told(reports)).toEqual([
    'signature failed',
    'discovery failed',
    'discovery done',
    'signature done',
  ])
})
