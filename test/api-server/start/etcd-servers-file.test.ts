/** --etcd-servers-file: where the members of etcd are, in a file that the server follows. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEtcdFiles } from '../../../components/api-server/start/etcd-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const file = join(temporaryFolder('etcd-servers'), 'etcd-servers.txt')

async function open(text: string) {
  writeFileSync(file, text)
  return await openEtcdFiles({
    'etcd-cafile': undefined,
    'etcd-certfile': undefined,
    'etcd-keyfile': undefined,
    'etcd-servers-file': file,
  })
}

test('its addresses are used in their order', async () => {
  const { servers } = await open('https://192.0.2.2:2379\n\nhttps://192.0.2.1:2379\n')
  expect(servers()).toEqual(['https://192.0.2.2:2379', 'https://192.0.2.1:2379'])
  expect(servers()).toBe(servers())
})

test('what is no address, and a file without any, keep the server from starting', async () => {
  await expect(open('https://192.0.2.2:2379\n192.0.2.1\n')).rejects.toThrow(
    '--etcd-servers-file: "192.0.2.1" is not an address of etcd: write http://HOST:PORT or https://HOST:PORT',
  )
  await expect(open('\n')).rejects.toThrow(
    '--etcd-servers-file: there is no address: write one https://HOST:PORT a line',
  )
})
