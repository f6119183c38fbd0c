/** Another --runtime-config on a real cluster: what the API server serves and what the controller manager looks after. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { resourcesOf } from '../../components/api/resources.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

test('[VER-016] takes effect when the API server and the controller manager are restarted, and not before', async () => {
  const file = join(place.root, 'tmp', 'flags.json')
  const write = (runtimeConfig: string): void =>
    writeFileSync(file, JSON.stringify({ 'runtime-config': runtimeConfig }))
  write('batch/v1=false')
  const cluster = await place.up('lab', ['--nodes', '0', '--set', `api-server.config=${file}`])
  const { client, control } = cluster
  const { jobs, namespaces } = resourcesOf(client.dialect)
  const isServed = async (): Promise<boolean> =>
    await client.rest.json({ method: 'GET', path: '/apis/batch/v1' }).then(
      () => true,
      (error: unknown) => {
        if (isStatusError(error) && error.code === 404) return false
        throw error
      },
    )
  expect(await isServed()).toBe(false)
  write('')
  expect(await isServed()).toBe(false)
  await control.call('restart', { name: 'controller-manager' })
  expect(await isServed()).toBe(false)

  await control.call('restart', { name: 'api-server' })
  await control.call('restart', { name: 'controller-manager' })
  await eventually(async () => expect(await isServed()).toBe(true))
  // The controller manager knows the kind: it deletes what a namespace holds of it.
  const spec = { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' }
  await client.resource(namespaces).create({ metadata: { name: 'a' } })
  await client.resource(jobs).create({
    metadata: { name: 'j', namespace: 'a', finalizers: [] },
    spec: { template: { spec } },
  })
  await client.resource(namespaces).delete({ name: 'a' })
  await eventually(async () => {
    await expect(client.resource(namespaces).get({ name: 'a' })).rejects.toMatchObject({
      code: 404,
    })
  })
  expect((await client.resource(jobs).list()).items).toEqual([])
})
