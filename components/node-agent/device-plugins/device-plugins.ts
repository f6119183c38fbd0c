/**
 * DevicePlugins: plugins register at the agent's socket and list their devices, which the node then has as resources
 * (upstream: kubelet/cm/devicemanager). Containers get no devices: they are simulated.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dialect } from '../../api/dialect.ts'
import { supportedDevicePluginVersions } from '../../api/lifecycles/device-plugin-api.ts'
import type { Clock } from '../../component-base/clock.ts'
import { GrpcClient } from '../../component-base/grpc/grpc-client.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import { serveGrpc } from '../../component-base/grpc/grpc-server.ts'
import { messageOf, type Log } from '../../component-base/log.ts'
import { fitsSocketAddress } from '../../component-base/socket-address.ts'
import { qualifiedName } from '../../machinery/validation/names.ts'
import { readDevices, readRegisterRequest, type Device, type RegisterRequest } from './messages.ts'

/** How many devices of a resource there are, and how many of them work. */
export interface DeviceCount {
  readonly capacity: number
  readonly healthy: number
}

export interface DevicePlugins {
  /** By resource, of every plugin that ever registered with this process. */
  resources(): ReadonlyMap<string, DeviceCount>
  /** Serves registrations until the signal aborts. A folder that cannot be used is logged: the node works without. */
  run(signal: AbortSignal): Promise<void>
}

function refuse(message: string): never {
  throw new GrpcError(grpcCode.unknown, message)
}

/** Rejects a registration with upstream's words. */
function checkRegistration(request: RegisterRequest, dialect: Dialect): void {
  const { version, endpoint, resourceName } = request
  if (!supportedDevicePluginVersions.includes(version)) {
    const supported = supportedDevicePluginVersions.map((one) => `"${one}"`).join(' ')
    refuse(
      `requested API version "${version}" is not supported by kubelet. Supported version is [${supported}]`,
    )
  }
  const [domain = '', name] = resourceName.split('/')
  const isOwn = domain === dialect.labelDomain || domain.endsWith(`.${dialect.labelDomain}`)
  if (name === undefined || isOwn || qualifiedName(resourceName).length > 0) {
    refuse(`the ResourceName "${resourceName}" is invalid`)
  }
  if (endpoint === '' || endpoint.includes('/')) refuse(`the Endpoint "${endpoint}" is invalid`)
}

export interface DevicePluginsOptions {
  /** The folder of the agent's socket and of the plugins' sockets. */
  readonly folder: string
  readonly dialect: Dialect
  readonly onChange: () => void
  readonly clock: Clock
  readonly log: Log
}

export function createDevicePlugins(options: DevicePluginsOptions): DevicePlugins {
  const { dialect, onChange, log } = options
  const devices = new Map<string, readonly Device[]>()
  const following = new Map<string, AbortController>()
  const update = (resource: string, list: readonly Device[]): void => {
    devices.set(resource, list)
    onChange()
  }
  const follow = async (request: RegisterRequest, signal: AbortSignal): Promise<void> => {
    const { resourceName } = request
    await listAndWatch(options, request, { update: (list) => update(resourceName, list), signal })
    if (signal.aborted) return
    const known = devices.get(resourceName) ?? []
    update(
      resourceName,
      known.map(({ id }) => ({ id, isHealthy: false })),
    )
  }
  const register = (message: Buffer, signal: AbortSignal): Buffer => {
    const request = readRegisterRequest(message)
    checkRegistration(request, dialect)
    const { resourceName, endpoint } = request
    log.info('a device plugin registered', { resource: resourceName, endpoint })
    following.get(resourceName)?.abort()
    const own = new AbortController()
    following.set(resourceName, own)
    void follow(request, AbortSignal.any([signal, own.signal]))
    return Buffer.alloc(0)
  }
  return {
    resources: () => new Map([...devices].map(([name, list]) => [name, countOf(list)])),
    run: (signal) => serveRegistrations(options, (message) => register(message, signal), signal),
  }
}

function countOf(list: readonly Device[]): DeviceCount {
  const healthy = list.filter(({ isHealthy }) => isHealthy).length
  return { capacity: list.length, healthy }
}

/** Follows one plugin's devices until it ends. */
async function listAndWatch(
  { folder, clock, log }: DevicePluginsOptions,
  { endpoint, resourceName, version }: RegisterRequest,
  to: { readonly update: (list: readonly Device[]) => void; readonly signal: AbortSignal },
): Promise<void> {
  const client = new GrpcClient({ address: { path: join(folder, endpoint) }, clock })
  try {
    const call = client.stream(`/${version}.DevicePlugin/ListAndWatch`, {
      onMessage: (message) => to.update(readDevices(message)),
      signal: to.signal,
    })
    call.end(Buffer.alloc(0))
    await call.ended
    log.info('a device plugin ended', { resource: resourceName })
  } catch (error) {
    if (to.signal.aborted) return
    const why = messageOf(error)
    log.warn('a device plugin cannot be reached', { resource: resourceName, why })
  } finally {
    client.close()
  }
}

async function serveRegistrations(
  { folder, log }: DevicePluginsOptions,
  register: (message: Buffer) => Buffer,
  signal: AbortSignal,
): Promise<void> {
  const path = join(folder, 'kubelet.sock')
  const versions = supportedDevicePluginVersions.concat('v1alpha1')
  const methods = Object.fromEntries(
    versions.map((version) => [`/${version}.Registration/Register`, register]),
  )
  try {
    if (!fitsSocketAddress(path)) {
      throw new Error('the path of its socket is too long: choose a shorter --root-dir')
    }
    await mkdir(folder, { recursive: true, mode: 0o750 })
    // Left by an agent that was killed.
    await rm(path, { force: true })
    await serveGrpc({ path, methods, log }, signal)
  } catch (error) {
    if (signal.aborted) return
    log.warn('device plugins cannot register', { folder, why: messageOf(error) })
  }
}
