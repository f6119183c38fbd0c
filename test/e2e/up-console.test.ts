/** `skiff up --console`: a cluster that was made without a console gets one, and its link opens the page with the cluster's data. */
import { afterAll, expect, test } from 'vitest'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(async () => await place[Symbol.asyncDispose](), 60_000)

test('a stopped cluster gets a console with the next up, and keeps it', async () => {
  const made = await place.up('shown', ['--nodes', '0'])
  made.disconnect()
  const { skiff } = place.cluster('shown')
  expect(await skiff('status')).not.toContain('console')
  await skiff('down', '--keep-data')

  const up = JSON.parse(await skiff('up', '--console', '--output', 'json')) as {
    readonly console: string
  }
  const opened = await fetch(up.console, { redirect: 'manual' })
  expect(opened.status).toBe(303)
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
  const namespaces = await fetch(new URL('/cluster/api/v1/namespaces/default', up.console), {
    headers: { cookie, 'x-skiff-console': '1' },
  })
  expect(await namespaces.json()).toMatchObject({ kind: 'Namespace' })

  await skiff('down', '--keep-data')
  const again = JSON.parse(await skiff('up', '--output', 'json')) as { readonly console?: string }
  expect(again.console).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open\?key=/)
}, 120_000)
