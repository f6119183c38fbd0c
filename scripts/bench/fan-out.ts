/** A thousand watchers, or BENCH_WATCHERS, and fifty events a second: how late each delivery is, and whether it gets later. */
import { bareDeliveries, deliveriesOf, lateNotes, shownLateness } from './deliveries.ts'
import { usage } from './process.ts'
import type { Row } from './rows.ts'
import type { World } from './world.ts'

const watchers = Number(process.env['BENCH_WATCHERS'] ?? '1000')
const everyMs = Number(process.env['BENCH_EVERY_MS'] ?? '20')

export async function measureFanOut(world: World, durationMs: number): Promise<Row[]> {
  const events = Math.max(50, Math.round((durationMs * 2) / everyMs))
  const pace = { watchers, events, everyMs }
  const server = await world.startServer('fan-out.db')
  const bare = await world.startBare()
  const { object, ...ours } = await deliveriesOf(server.endpoint, pace)
  const yardstick = await bareDeliveries(bare.endpoint, object, pace)
  const { peer } = world
  const theirs = peer === undefined ? undefined : await deliveriesOf(peer.endpoint, pace)
  const { peakMb } = usage(server.pid)
  await Promise.all([server.stop(), bare.stop()])
  const note = [
    `${events} events of ${object.length} bytes`,
    `at most ${peakMb.toFixed(0)} MB resident`,
    ...lateNotes(ours),
  ].join(', ')
  return [
    {
      name: `delivery to ${watchers} watchers at ${1000 / everyMs} events/s`,
      skiff: shownLateness(ours),
      bare: shownLateness(yardstick),
      ratio: `${Math.round((yardstick.p99 / ours.p99) * 100)} %`,
      ...(theirs === undefined ? {} : { peer: shownLateness(theirs) }),
      note,
    },
  ]
}
