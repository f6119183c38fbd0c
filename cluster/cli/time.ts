/** `skiff time ...`: the clock of a cluster. */
import { defineFlags, flag, formatDuration } from '../../components/component-base/flags.ts'
import type { LabTime, TimeState } from '../lab/lab.ts'
import { advanceOf, speedOf } from '../lab/time-text.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import type { Command, CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { shortDuration } from './terminal.ts'

const flags = defineFlags({ ...nameFlag, ...outputFlag })
const settleFlags = defineFlags({
  ...flags,
  idle: flag.duration('The cluster has settled when nothing is due within this time.', 10_000, {
    least: 0,
  }),
  most: flag.duration("Fail after this much of the cluster's time.", 3_600_000, { least: 0 }),
})

/** `2026-11-23T20:59:01.638Z`. */
function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

/** `paused, 10m12s ahead of real time`. */
function describe({ speed, aheadMs }: TimeState): string {
  const pace =
    speed === 0 ? 'paused' : speed === 1 ? 'as fast as real time' : `${speed} times as fast`
  const wholeMs = Math.round(aheadMs / 1000) * 1000
  if (wholeMs === 0) return speed === 1 && aheadMs === 0 ? 'real time' : pace
  const apart = formatDuration(Math.abs(wholeMs))
  return `${pace}, ${apart} ${wholeMs > 0 ? 'ahead of' : 'behind'} real time`
}

function show({ terminal }: CommandContext, state: TimeState, output: string): void {
  if (output === 'json') {
    const { nowMs, speed, aheadMs, apart } = state
    terminal.out(`${JSON.stringify({ now: timeText(nowMs), speed, aheadMs, apart })}\n`)
    return
  }
  terminal.out(`${timeText(state.nowMs)}  ${describe(state)}\n`)
  if (state.apart.length > 0)
    terminal.out(
      `${state.apart.join(', ')}: at real time, since ${state.apart.length > 1 ? 'they do' : 'it does'} not follow the clock\n`,
    )
}

/** A command without arguments. */
function simple(
  verb: string,
  words: Pick<Command, 'summary' | 'description' | 'examples'>,
  act: (time: LabTime) => Promise<TimeState>,
): Command {
  return defineCommand({
    name: `time ${verb}`,
    ...words,
    flags,
    run: async (context, { flags: given }) =>
      await withCluster(context, given.name, async ({ lab }) => {
        show(context, await act(lab.time), given.output)
        return exitCodes.ok
      }),
  })
}

const now = simple(
  'now',
  {
    summary: 'Show what time it is in the cluster, and how fast it passes',
    examples: [['skiff time now', 'Also names components that do not follow the clock']],
  },
  (time) => time.state(),
)
const pause = simple(
  'pause',
  {
    summary: 'Stop the clock: the cluster goes on to serve, but nothing falls due',
    examples: [['skiff time pause', 'No heartbeat, no back-off, no timeout until it goes on']],
  },
  (time) => time.pause(),
)
const resume = simple(
  'resume',
  {
    summary: 'Let a paused clock go on, at the speed it had before',
    examples: [['skiff time resume', 'From the time at which it was paused']],
  },
  (time) => time.resume(),
)

const step = simple(
  'step',
  {
    summary: 'Move the clock on to the next moment at which something is due',
    examples: [['skiff time step', 'After `skiff time pause`: what happens, one moment at a time']],
  },
  (time) => time.step(),
)

const speed = defineCommand({
  name: 'time speed',
  summary: 'Let the clock run faster or slower than real time',
  description:
    'A cluster whose work takes longer than the speed allows runs as fast as it can: no deadline is missed by that.',
  arguments: [{ name: 'SPEED' }],
  flags,
  examples: [
    ['skiff time speed 60', 'An hour of the cluster passes in a minute'],
    ['skiff time speed 1', 'As fast as real time'],
  ],
  run: async (context, { flags: given, args: [text = ''] }) => {
    const wanted = speedOf(text)
    return await withCluster(context, given.name, async ({ lab }) => {
      show(context, await lab.time.speed(wanted), given.output)
      return exitCodes.ok
    })
  },
})

const advance = defineCommand({
  name: 'time advance',
  summary: 'Move the clock on: all that falls due on the way happens, in its order',
  description: 'It ends when that has happened. Ctrl-C stops it where it is.',
  arguments: [{ name: 'TIME' }],
  flags,
  examples: [
    ['skiff time advance 6m', 'Pods of a node that is gone are evicted'],
    ['skiff time advance 2030-01-01T00:00:00Z', 'To a moment'],
  ],
  run: async (context, { flags: given, args: [text = ''] }) => {
    const by = advanceOf(text)
    return await withCluster(context, given.name, async ({ lab }) => {
      const startedMs = context.clock.elapsed()
      const state = await lab.time.advance(by)
      show(context, state, given.output)
      const took = shortDuration(context.clock.elapsed() - startedMs)
      if (given.output === 'text') context.terminal.err(`it took ${took}\n`)
      return exitCodes.ok
    })
  },
})

const settle = defineCommand({
  name: 'time settle',
  summary: 'Advance the clock until the cluster has come to rest',
  description: 'At rest, only what recurs falls due: heartbeats, renewals of leases, probes.',
  flags: settleFlags,
  examples: [['skiff time settle', 'After `kubectl apply`: rollouts and back-offs have ended']],
  run: async (context, { flags: given }) =>
    await withCluster(context, given.name, async ({ lab }) => {
      const { idle: idleMs, most: mostMs } = given
      show(context, await lab.time.settle({ idleMs, mostMs }), given.output)
      return exitCodes.ok
    }),
})

export const timeCommands = [now, pause, resume, speed, advance, step, settle]
