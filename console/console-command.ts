/** `skiff console`: serves a page that shows a cluster, until Ctrl-C. */
import { join } from 'node:path'
import { defineCommand, outputFlag } from '../cluster/cli/command.ts'
import { exitCodes } from '../cluster/cli/exit-codes.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { linkOfConsole } from '../cluster/find-console.ts'
import { packageFolder } from '../cluster/plan/programs.ts'
import { StartError } from '../components/component-base/component.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'
import { createLog, messageOf } from '../components/component-base/log.ts'
import { createClientOver, type Client } from '../components/client/client.ts'
import { impersonatedClient } from './server/impersonated-client.ts'
import { runConsole } from './server/run-console.ts'
import { targetFlags, withTarget, type Target } from '../cluster/cli/target.ts'

const flags = defineFlags({
  ...targetFlags,
  as: flag.string('User to impersonate: the page shows and does what this user may.'),
  'as-group': flag.list('Group of the impersonated user. Repeatable.', []),
  address: flag.string(
    'Address to listen at. Any but a loopback address shows the cluster to the network.',
    '127.0.0.1',
  ),
  port: flag.int('Port to listen at; 0 picks a free port.', 0, { least: 0 }),
  ...outputFlag,
})

interface Given {
  readonly as: string | undefined
  readonly 'as-group': readonly string[]
}

/** The client as the user whom `--as` names. */
function viewerClient(client: Client, given: Given): Client {
  const { as: user, 'as-group': groups } = given
  if (user === undefined) {
    if (groups.length === 0) return client
    throw new ClusterError('usage', '--as-group needs --as', { hint: 'add: --as USER' })
  }
  return createClientOver(impersonatedClient(client.rest, { user, groups }), client)
}

/** A link to the console that the cluster runs, unless the flags ask for another one. */
async function runningConsole(
  cluster: NonNullable<Target['cluster']>,
  given: Given & { readonly port: number; readonly address: string },
  clock: Clock,
): Promise<string | undefined> {
  const isOwn = given.as !== undefined || given.port !== 0 || given.address !== '127.0.0.1'
  return isOwn ? undefined : await linkOfConsole(cluster, clock)
}

function asClusterError(error: unknown): never {
  if (!(error instanceof StartError)) throw error
  throw new ClusterError('failed', messageOf(error), { cause: error })
}

export const consoleCommand = defineCommand({
  name: 'console',
  summary: 'Serve a page that shows a cluster, live and back in time',
  description:
    'Prints a link that opens the page once, in one browser. The page acts with your rights, or with those of the user whom --as names. ' +
    'Ctrl-C ends it.',
  flags,
  examples: [
    ['skiff console', 'Show the cluster "default"'],
    ['skiff console --name demo --as jane --as-group developers', 'Show what jane may see'],
    ['skiff console --kubeconfig ~/.kube/config --context kind-dev', 'Show any other cluster'],
  ],
  handlesInterrupt: true,
  async run(context, { flags: given }) {
    const { terminal, signal } = context
    const log = createLog({
      clock: context.clock,
      level: 'warn',
      write: (line) => terminal.err(line),
    })
    // A user who is impersonated has no rights over processes of this machine.
    const hasControl = given.as === undefined
    const say = ({ port, link }: { port: number; link: string }): void => {
      if (given.output === 'json') terminal.out(`${JSON.stringify({ link, port })}\n`)
      else terminal.out(`Open this link; it works once:\n\n  ${link}\n\nCtrl-C ends the console.\n`)
    }
    await withTarget(context, given, async ({ client, title, cluster }) => {
      const running = cluster && (await runningConsole(cluster, given, context.clock))
      if (running !== undefined) {
        if (given.output === 'json') terminal.out(`${JSON.stringify({ link: running })}\n`)
        else terminal.out(`${running}\n`)
        return
      }
      await runConsole(
        {
          name: cluster?.config.name ?? title,
          client: viewerClient(client, given),
          ...(cluster &&
            hasControl && { place: { name: cluster.config.name, stateRoot: context.stateRoot } }),
          host: given.address,
          port: given.port,
          secret: context.clock.randomBytes(32).toString('base64url'),
          assets: join(packageFolder('dist'), 'console-page'),
          log,
          ready: say,
        },
        signal,
      ).catch(asClusterError)
    })
    return exitCodes.ok
  },
})
