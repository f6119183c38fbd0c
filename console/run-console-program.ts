/** The console's process: from its flags to a console. */
import { basename, join } from 'node:path'
import { packageFolder } from '../cluster/plan/programs.ts'
import { stateRootOf, writePrivateFile } from '../cluster/state/state-dir.ts'
import { dialectNamed, dialects } from '../components/api/dialect.ts'
import { StartError, type ComponentContext } from '../components/component-base/component.ts'
import { createClient } from '../components/client/client.ts'
import { connectionFrom, readKubeconfig } from '../components/client/kubeconfig.ts'
import type { consoleFlags } from './options.ts'
import { runConsole } from './server/run-console.ts'

export async function runConsoleProgram(
  context: ComponentContext<typeof consoleFlags>,
): Promise<void> {
  const { options, clock, log, signal, ready } = context
  const { kubeconfig, 'link-secret-file': secretFile, 'state-dir': stateDir } = options
  if (kubeconfig === undefined) throw new StartError('--kubeconfig is needed')
  if (secretFile === undefined) throw new StartError('--link-secret-file is needed')
  const secret = clock.randomBytes(32).toString('base64url')
  writePrivateFile(secretFile, secret)
  const connection = await connectionFrom(await readKubeconfig(kubeconfig))
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  const client = createClient({ ...connection, dialect, clock, log, userAgent: 'skiff-console' })
  const host = options['bind-address']
  try {
    await runConsole(
      {
        name: stateDir === undefined ? new URL(connection.server).host : basename(stateDir),
        client,
        ...(stateDir !== undefined && {
          place: { name: basename(stateDir), stateRoot: stateRootOf(stateDir) },
        }),
        host,
        port: options.port,
        secret,
        assets: join(packageFolder('dist'), 'console-page'),
        log,
        ready: ({ port }) => ready({ host, port }),
      },
      signal,
    )
  } finally {
    client.close()
  }
}
