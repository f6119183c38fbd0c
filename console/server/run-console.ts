/** runConsole: one console from its start until its signal aborts. */
import { isIPv6 } from 'node:net'
import { createConsoleLink } from '../../cluster/console-link.ts'
import { connectControl } from '../../cluster/control-client.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { aborted } from '../../components/component-base/aborted.ts'
import type { Log } from '../../components/component-base/log.ts'
import type { Client } from '../../components/client/client.ts'
import { readAssets } from './assets.ts'
import { forward } from './forward.ts'
import { createForwardUpgrade } from './forward-upgrade.ts'
import { createGuard } from './guard.ts'
import { createLab, type LabPlace } from './lab/lab.ts'
import { answerLessons } from './lessons/lesson-requests.ts'
import { createLessonTours } from './lessons/lesson-tours.ts'
import { createLinkKeys } from './links.ts'
import { openListener } from './listener.ts'
import { serveConnection } from './live/connection.ts'
import { createHub } from './live/hub.ts'
import { createReachability } from './live/reachability.ts'
import { createSessions } from './sessions.ts'
import { readClusterInfo } from './viewer.ts'

export interface ConsoleOptions {
  /** Of the cluster, as the page shows it. */
  readonly name: string
  /** With the viewer's identity; the caller closes it. It must not retry by itself. */
  readonly client: Client
  /** The cluster on this machine, whose supervisor the page controls. Absent: the console offers no Lab. */
  readonly place?: LabPlace | undefined
  /** Address to listen at; 127.0.0.1 unless the user asked for another. */
  readonly host: string
  readonly port: number
  /** Signs links; whoever has it can open the console. */
  readonly secret: string
  /** Folder of the built page. */
  readonly assets: string
  readonly log: Log
  /** Called once it listens, with a link that opens it. */
  readonly ready: (opened: { readonly port: number; readonly link: string }) => void
}

const urlHost = (host: string): string => (isIPv6(host) ? `[${host}]` : host)

/** Where browsers of this machine may address a listener. */
function hostsOf(host: string, port: number): string[] {
  const names = new Set([host, '127.0.0.1', '::1', 'localhost'])
  return [...names].map((name) => `${urlHost(name)}:${port}`)
}

/** Serves until the signal aborts. Rejects with a StartError when it cannot start. */
export async function runConsole(options: ConsoleOptions, signal: AbortSignal): Promise<void> {
  const { name, client, place, host, secret, log } = options
  const { clock } = client
  let hosts: readonly string[] = []
  const sessions = createSessions(clock.randomBytes(6).toString('hex'), clock)
  const connect = place && (() => connectControl(statePaths(place.stateRoot, place.name)))
  const tours = createLessonTours({ client, name, connectControl: connect })
  const hasControl = place !== undefined
  const reachability = createReachability(client, () =>
    readClusterInfo(client, { name, hasControl }),
  )
  const hub = createHub({
    client,
    clusterClock: reachability,
    connectControl: connect,
    lessons: tours,
  })
  const onFault = (error: unknown): void => log.error('a request of the page failed', { error })
  const lab = createLab({ place, client, onFault })
  const streams = createForwardUpgrade(client.rest)
  const listener = await openListener({
    host,
    port: options.port,
    guard: createGuard(() => hosts, sessions),
    links: createLinkKeys(secret, clock),
    sessions,
    assets: readAssets(options.assets),
    forward: (request, response) => forward(request, response, { rest: client.rest, onFault }),
    lab: lab.handle,
    forwardUpgrade: streams.forward,
    lessons: (request, response) => answerLessons(request, response, { tours, onFault }),
    onPage: (socket) => {
      const { send } = serveConnection(socket, hub.subscribe)
      socket.on('close', reachability.follow(send))
    },
  })
  const { port } = listener
  hosts = hostsOf(host, port)
  options.ready({ port, link: createConsoleLink({ host, port, secret }, clock) })
  try {
    await aborted(signal)
  } finally {
    hub.close()
    streams.close()
    await Promise.all([lab.close(), listener.close()])
  }
}
