/** Hub: every channel of a console, shared by all pages, and the tables and lessons of single pages. */
import type { ControlClient } from '../../../cluster/control-client.ts'
import type { OpenWatch } from '../../../components/api/request-record.ts'
import type { Pod } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import type { Client } from '../../../components/client/client.ts'
import type { LessonStepRow } from '../../protocol/lessons.ts'
import type {
  ChannelName,
  Channels,
  ComponentRow,
  JournalRow,
  RequestRow,
  TableRow,
} from '../../protocol/live.ts'
import { slimEvent } from '../../slim/slim-event.ts'
import { slimPod } from '../../slim/slim-pod.ts'
import type { LessonTours } from '../lessons/lesson-tours.ts'
import { createChannel, type Channel } from './channel.ts'
import { followComponents } from './components-source.ts'
import type { Subscribe } from './connection.ts'
import { JournalStates } from './journal-states.ts'
import { followFaults, followTime, type LabSource } from './lab-sources.ts'
import { followMonitors } from './monitors-source.ts'
import { followNodes } from './nodes-source.ts'
import { followRequests } from './requests-source.ts'
import { followSlim } from './slim-reader.ts'
import { followTable } from './table-source.ts'
import type { LiveTable, TableFollower } from './table.ts'
import { followWatches } from './watches-source.ts'

const mostEvents = 2000
const mostRequests = 5000

export interface HubOptions {
  readonly client: Client
  /** The cluster's. */
  readonly clusterClock: Pick<Clock, 'now'>
  /** A new connection to the supervisor; absent for clusters without one of ours. */
  readonly connectControl?: (() => Promise<ControlClient>) | undefined
  readonly lessons: Pick<LessonTours, 'follow'>
}

export interface Hub {
  readonly subscribe: Subscribe
  readonly channels: { readonly [Name in ChannelName]: Channel<Channels[Name]> }
  close(): void
}

function sinkOf<Row>(table: LiveTable<Row>, keyOf: (row: Row) => string) {
  return {
    replace: (rows: readonly Row[]): void => table.replace(rows),
    apply: (type: string, row: Row): void => {
      if (type === 'DELETED') table.delete(keyOf(row))
      else table.set(row)
    },
  }
}

const byKey = ({ key }: { readonly key: string }): string => key

/** What the supervisor tells. */
function createLabChannels({
  client: { clock },
  connectControl,
}: HubOptions): Pick<Hub['channels'], 'components' | 'time' | 'faults'> {
  const supervisor = (): LabSource => {
    if (connectControl === undefined)
      throw new Error('this cluster has no supervisor on this machine')
    return { connect: connectControl, clock }
  }
  return {
    components: createChannel<ComponentRow>({
      clock,
      keyOf: ({ name }) => name,
      run: async (table, signal) => await followComponents(supervisor().connect, table, signal),
    }),
    time: createChannel<Channels['time']>({
      clock,
      keyOf: byKey,
      run: async (table, signal) => await followTime(supervisor(), table, signal),
    }),
    faults: createChannel<Channels['faults']>({
      clock,
      keyOf: byKey,
      run: async (table, signal) => await followFaults(supervisor(), table, signal),
    }),
  }
}

function createChannels(options: HubOptions): Hub['channels'] {
  const { client, clusterClock } = options
  const { clock } = client
  const { pods, events } = resourcesOf(client.dialect)
  const states = new JournalStates()
  return {
    nodes: createChannel({
      clock,
      keyOf: ({ name }) => name,
      run: (table, signal) => followNodes(client, table, signal),
    }),
    pods: createChannel<Channels['pods']>({
      clock,
      keyOf: byKey,
      run: (table, signal) =>
        followSlim(
          {
            client,
            resource: pods,
            toRow: (object) => slimPod(object as Pod),
            sink: sinkOf(table, byKey),
          },
          signal,
        ),
    }),
    events: createChannel<Channels['events']>({
      clock,
      keyOf: byKey,
      mostRows: mostEvents,
      run: (table, signal) =>
        followSlim(
          { client, resource: events, toRow: slimEvent, sink: sinkOf(table, byKey) },
          signal,
        ),
    }),
    requests: createChannel<RequestRow>({
      clock,
      keyOf: ({ seq }) => String(seq),
      mostRows: mostRequests,
      run: (table, signal) => followRequests({ client, table, states }, signal),
    }),
    journals: createChannel<JournalRow>({
      clock,
      keyOf: ({ server }) => server,
      run: (table, signal) => states.show(table, signal),
    }),
    watches: createChannel<OpenWatch>({
      clock,
      keyOf: ({ id }) => id,
      run: (table, signal) => followWatches(client, table, signal),
    }),
    monitors: createChannel<Channels['monitors']>({
      clock,
      keyOf: byKey,
      run: (table, signal) => followMonitors({ client, clock: clusterClock }, table, signal),
    }),
    ...createLabChannels(options),
  }
}

export function createHub(options: HubOptions): Hub {
  const { client, lessons } = options
  const { clock } = client
  const channels = createChannels(options)
  const own = new Set<{ close(): void }>()
  /** A channel for one page alone. */
  const followOwn = <Row>(channel: Channel<Row>, follower: TableFollower): (() => void) => {
    own.add(channel)
    const leave = channel.follow(follower)
    return () => {
      leave()
      channel.close()
      own.delete(channel)
    }
  }
  const subscribe: Subscribe = (wanted, follower) => {
    if ('channel' in wanted) return channels[wanted.channel].follow(follower)
    if ('lesson' in wanted) {
      const { lesson } = wanted
      const channel = createChannel<LessonStepRow>({
        clock,
        keyOf: ({ step }) => String(step),
        run: (table, signal) => lessons.follow(lesson, table, signal),
      })
      return followOwn(channel, follower)
    }
    const { table: selection } = wanted
    const channel = createChannel<TableRow>({
      clock,
      keyOf: ({ key }) => key,
      run: (table, signal) =>
        followTable(selection, { client, table, onColumns: follower.columns }, signal),
    })
    return followOwn(channel, follower)
  }
  return {
    subscribe,
    channels,
    close: () => {
      for (const channel of [...Object.values(channels), ...own]) channel.close()
    },
  }
}
