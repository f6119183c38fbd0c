import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseFeatureGates } from '../../../components/api/feature-gates.ts'
import { createLog, silentLog } from '../../../components/component-base/log.ts'
import { runWatchdog, watchdogInterval } from '../../../components/node-agent/node/watchdog.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('the watchdog is off until its gate is set', () => {
  expect(parseFeatureGates('').gates.SystemdWatchdog).toBe(false)
  expect(parseFeatureGates('SystemdWatchdog=true').gates.SystemdWatchdog).toBe(true)
})

test('[NODE-027] a keep-alive comes at half of WatchdogSec', async () => {
  const intervalMs = watchdogInterval({ WATCHDOG_USEC: '10000000', WATCHDOG_PID: '7' }, 7)
  expect(intervalMs).toBe(5000)
  const clock = new FakeClock()
  const started = clock.now()
  const sent: [number, string][] = []
  const stop = new AbortController()
  const running = runWatchdog(
    {
      intervalMs: intervalMs ?? 0,
      notify: async (state) => void sent.push([clock.now() - started, state]),
      isHealthy: () => true,
      clock,
      log: silentLog,
    },
    stop.signal,
  )
  await clock.step(10_000)
  expect(sent).toEqual([
    [0, 'WATCHDOG=1'],
    [5000, 'WATCHDOG=1'],
    [10_000, 'WATCHDOG=1'],
  ])
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
})

test('[LIM-014] a WatchdogSec of more than 10 minutes is warned of, and still works', async () => {
  const warningsWith = async (microseconds: string): Promise<string[]> => {
    const clock = new FakeClock()
    const lines: string[] = []
    let sent = 0
    const stop = new AbortController()
    const running = runWatchdog(
      {
        intervalMs: watchdogInterval({ WATCHDOG_USEC: microseconds }, 7) ?? 0,
        notify: async () => void (sent += 1),
        isHealthy: () => true,
        clock,
        log: createLog({ clock, level: 'warn', write: (line) => void lines.push(line) }),
      },
      stop.signal,
    )
    await clock.step(660_000)
    expect(sent).toBeGreaterThan(1)
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    return lines
  }
  expect(await warningsWith('660000000')).toEqual([expect.stringContaining('about 15 s')])
  expect(await warningsWith('600000000')).toEqual([])
  expect(await warningsWith('15000000')).toEqual([])
})

test('[LIM-013] the docs leave the watchdog to the operator, at about 15 seconds', () => {
  const folder = join(import.meta.dirname, '../../../docs')
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
  const texts = pages.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  expect(texts.match(/WatchdogSec=\w+/g)).toEqual(['WatchdogSec=15'])
  expect(texts).toMatch(/`WatchdogSec=15`[^\n]* optional/)
})

test('an unhealthy agent goes silent', async () => {
  const clock = new FakeClock()
  const sent: string[] = []
  const stop = new AbortController()
  const running = runWatchdog(
    {
      intervalMs: 1000,
      notify: async (state) => void sent.push(state),
      isHealthy: () => false,
      clock,
      log: silentLog,
    },
    stop.signal,
  )
  await clock.step(5000)
  expect(sent).toEqual([])
  stop.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
})

test('without a watchdog, or with one that watches another process, nothing is sent', () => {
  expect(watchdogInterval({}, 7)).toBeUndefined()
  expect(watchdogInterval({ WATCHDOG_USEC: '10000000', WATCHDOG_PID: '8' }, 7)).toBeUndefined()
  expect(watchdogInterval({ WATCHDOG_USEC: 'soon' }, 7)).toBeUndefined()
})
