/** The names of all channels. */
import type { ChannelName } from './live.ts'

export const channelNames: readonly ChannelName[] = [
  'nodes',
  'pods',
  'events',
  'requests',
  'journals',
  'watches',
  'components',
  'time',
  'faults',
  'monitors',
]
