/** client-go's informer in an hour of chaos, in virtual time. */
import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { startCluster } from '../../library/start-cluster.ts'
import { chaosHour } from '../support/chaos-hour.ts'
import { goTimeoutMs, quickBuild, requireGo } from '../support/go.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const clientGo = join(import.meta.dirname, 'fixtures/client-go')
const test = requireGo(clientGo)

/** Name -> resourceVersion. */
type Shown = Readonly<Record<string, string>>

/** Builds and starts the informer; it has synced when it answers. */
async function startInformer(folder: string, kubeconfig: string) {
  const program = join(folder, 'informer')
  const build = quickBuild.filter((flag) => flag !== '-vet=off')
  await promisify(execFile)('go', ['build', ...build, '-o', program, './informer'], {
    cwd: clientGo,
    env: { ...process.env, CGO_ENABLED: '0' },
  })
  // What client-go says of each failure is no news.
  const child = spawn(program, [kubeconfig, 'default'], { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    show: async (): Promise<Shown> => {
      child.stdin.write('\n')
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the informer has ended')
      return JSON.parse(String(value)) as Shown
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      await ended
    },
  }
}

test(
  'an hour of chaos leaves client-go’s informer right',
  async () => {
    const folder = temporaryFolder('go-chaos')
    const kubeconfig = join(folder, 'kubeconfig')
    await using cluster = await startCluster({ nodes: 2 })
    writeFileSync(kubeconfig, cluster.kubeconfig(), { mode: 0o600 })
    await using informer = await startInformer(folder, kubeconfig)
    await informer.show()
    await cluster.clock.pause()
    await chaosHour(cluster, () => informer.show())
  },
  goTimeoutMs,
)
