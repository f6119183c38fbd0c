/** The client of KMS plugins, against one on a socket (upstream: envelope/kmsv2/grpc_service_unix_test.go). */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createGrpcKmsService } from '../../../../components/api-server/encryption/kms/grpc-kms-service.ts'
import type { KmsService } from '../../../../components/api-server/encryption/kms/kms-service.ts'
import { systemClock } from '../../../../components/component-base/clock.ts'
import { grpcCode, GrpcError } from '../../../../components/component-base/grpc/grpc-error.ts'
import { startKmsPlugin, type KmsPlugin } from '../../../support/kms-plugin.ts'

type Call = { method: string; status: string; seconds: number }

function serviceAt(
  { path }: Pick<KmsPlugin, 'path'>,
  timeoutMs = 60_000,
): KmsService & Disposable & { calls: Call[] } {
  const calls: Call[] = []
  const observe = (call: Call): void => void calls.push(call)
  const service = createGrpcKmsService({ path, timeoutMs, clock: systemClock, observe })
  return { ...service, calls, [Symbol.dispose]: () => service.close() }
}

const seed = Buffer.from('0123456789abcdef0123456789abcdef')

test('what the plugin encrypts it decrypts, with its key id and annotations', async () => {
  await using plugin = await startKmsPlugin()
  using service = serviceAt(plugin)
  expect(await service.status()).toEqual({ version: 'v2', healthz: 'ok', keyId: plugin.keyId })
  const encrypted = await service.encrypt('uid-1', seed)
  expect(encrypted.keyId).toBe(plugin.keyId)
  expect(encrypted.ciphertext.includes(seed)).toBe(false)
  expect(await service.decrypt('uid-2', encrypted)).toEqual(seed)
  expect(service.calls.map(({ method, status }) => `${method} ${status}`)).toEqual([
    '/v2.KeyManagementService/Status OK',
    '/v2.KeyManagementService/Encrypt OK',
    '/v2.KeyManagementService/Decrypt OK',
  ])
})

test('the socket may be an abstract one', async () => {
  await using plugin = await startKmsPlugin({ path: `\0kms-${randomUUID()}` })
  using service = serviceAt(plugin)
  expect((await service.status()).healthz).toBe('ok')
})

test('a call waits for a plugin that starts late, or anew', async () => {
  await using plugin = await startKmsPlugin({ isStopped: true })
  using service = serviceAt(plugin)
  const early = service.status()
  await plugin.start()
  expect((await early).healthz).toBe('ok')
  await plugin.stop()
  const between = service.status()
  await plugin.start()
  expect((await between).healthz).toBe('ok')
})

test('without a plugin a call ends with its time, and names the socket', async () => {
  await using plugin = await startKmsPlugin({ isStopped: true })
  using service = serviceAt(plugin, 150)
  await expect(service.status()).rejects.toThrow(
    `rpc error: code = DeadlineExceeded desc = no plugin listened within 150 ms: ${plugin.path} cannot be reached: connect ENOENT`,
  )
  expect(service.calls.map(({ status }) => status)).toEqual(['DeadlineExceeded'])
})

test('a plugin that does not answer is given up with the time', async () => {
  await using plugin = await startKmsPlugin()
  using service = serviceAt(plugin, 500)
  plugin.faults = { isSilent: true }
  await expect(service.status()).rejects.toThrow(
    /^rpc error: code = DeadlineExceeded desc = .*no answer within \d+/,
  )
})

test('an error of the plugin has its code and its words', async () => {
  await using plugin = await startKmsPlugin()
  using service = serviceAt(plugin)
  plugin.faults = { error: new GrpcError(grpcCode.permissionDenied, 'the vault is sealed') }
  await expect(service.encrypt('uid', seed)).rejects.toThrow(
    'rpc error: code = PermissionDenied desc = the vault is sealed',
  )
  plugin.faults = { error: new GrpcError(99, 'of its own') }
  await expect(service.encrypt('uid', seed)).rejects.toThrow('rpc error: code = Code(99) desc =')
})

test('no call outlives the end of the service', async () => {
  await using plugin = await startKmsPlugin()
  using service = serviceAt(plugin)
  plugin.faults = { isSilent: true }
  const asked = service.status()
  service.close()
  await expect(asked).rejects.toThrow('rpc error: code = Canceled')
  await expect(service.status()).rejects.toThrow('rpc error: code = Canceled')
})
