/** How long `skiff up --store etcd` takes, beside `skiff up` on a file and the start of an etcd alone. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { etcdProgram, startEtcd } from './etcd-process.ts'
import { plainRow, quantile, type Row } from './rows.ts'

const rounds = 5

export async function measureEtcdStart(root: string): Promise<Row[]> {
  if (!existsSync(etcdProgram)) {
    return [plainRow('up on etcd', '', `not measured: there is no ${etcdProgram}`)]
  }
  const folder = benchFolder('etcd')
  const skiff = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'bin/skiff.js'), ...args], {
      env: { ...process.env, SKIFF_HOME: folder, XDG_STATE_HOME: folder },
      encoding: 'utf8',
    })
  const up = (...flags: string[]): number => {
    const startedMs = performance.now()
    const { status, stderr } = skiff(
      'up',
      '--name',
      'bench',
      '--port',
      '0',
      '--nodes',
      '1',
      ...flags,
    )
    const tookMs = performance.now() - startedMs
    if (status !== 0) throw new Error(`skiff up failed: ${stderr}`)
    skiff('down', '--name', 'bench')
    return tookMs
  }
  const [alone, onFile, onEtcd]: [number[], number[], number[]] = [[], [], []]
  try {
    for (let round = 0; round < rounds; round += 1) {
      const etcd = await startEtcd(join(folder, `etcd-${round}`))
      await etcd.stop()
      alone.push(etcd.startMs)
      onFile.push(up())
      onEtcd.push(up('--store', 'etcd'))
    }
  } finally {
    skiff('down', '--name', 'bench')
    removeBenchFolder(folder)
  }
  const [etcdMs, fileMs, upMs] = [alone, onFile, onEtcd].map((times) => quantile(times, 0.5)) as [
    number,
    number,
    number,
  ]
  const best = `best ${Math.round(onEtcd[0] ?? 0)} ms of ${rounds}`
  return [
    plainRow('start of an etcd alone', `${Math.round(etcdMs)} ms`),
    plainRow('up of one node on a file', `${Math.round(fileMs)} ms`),
    plainRow(
      'up of one node on etcd',
      `${Math.round(upMs)} ms`,
      `${best}; ${Math.round(upMs - etcdMs)} ms more than etcd alone, ${Math.round(upMs - fileMs)} ms more than on a file`,
    ),
  ]
}
