/** Finding etcd: the program in PATH or at a given place, of a version that the API server works with. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { ClusterError } from '../cluster-error.ts'

const packageHint =
  'install it (apt-get install etcd-server, dnf install etcd, brew install etcd), or pass --etcd-binary PATH'

const oldest = [3, 4] as const

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function pathOf(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (given !== undefined) {
    const path = resolve(given)
    if (await isExecutable(path)) return path
    throw new ClusterError('usage', `--etcd-binary: ${path} is not a program`, {
      hint: packageHint,
    })
  }
  const name = process.platform === 'win32' ? 'etcd.exe' : 'etcd'
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && (await isExecutable(path))) return path
  }
  throw new ClusterError('failed', 'there is no etcd in PATH', { hint: packageHint })
}

const answerWithinMs = 10_000

/** What `--version` prints; '' when it cannot be run. */
function versionText(path: string): Promise<string> {
  return new Promise((done) => {
    const options = { timeout: answerWithinMs, maxBuffer: 10_000 }
    execFile(path, ['--version'], options, (error, stdout) => done(error === null ? stdout : ''))
  })
}

/** Resolves with the absolute path. Rejects with a ClusterError when etcd is missing or too old, or the program is not etcd. */
export async function findEtcd(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const path = await pathOf(given, environment)
  const [, version, major, minor] =
    /^etcd Version: ((\d+)\.(\d+)\S*)/m.exec(await versionText(path)) ?? []
  if (version === undefined) {
    throw new ClusterError('failed', `${path} does not print the version of an etcd`, {
      hint: packageHint,
    })
  }
  const isOld =
    Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1])
  if (!isOld) return path
  throw new ClusterError(
    'failed',
    `${path} is etcd ${version}: ${oldest.join('.')} is the oldest that works`,
    {
      hint: packageHint,
    },
  )
}
