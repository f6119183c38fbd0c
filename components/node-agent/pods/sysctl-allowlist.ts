/** SysctlAllowlist: which sysctls pods of this node may set (upstream: kubelet/sysctl/allowlist.go). */
import type { Pod } from '../../api/generated/types.ts'
import { safeSysctls } from '../../api/sysctls.ts'

const namespaces = [
  ['kernel.sem', 'ipc'],
  ['kernel.shm', 'ipc'],
  ['kernel.msg', 'ipc'],
  ['fs.mqueue.', 'ipc'],
  ['net.', 'net'],
] as const

/** The namespace of the kernel that keeps a sysctl from other pods; undefined for a sysctl without one. */
function namespaceOf(name: string): 'ipc' | 'net' | undefined {
  return namespaces.find(([known]) =>
    known === 'kernel.sem' ? name === known : name.startsWith(known),
  )?.[1]
}

/** `net/ipv4/conf/eth0.100/forwarding` -> `net.ipv4.conf.eth0/100.forwarding`; what has dots first stays. */
function withDots(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'))
}

const pattern = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/

/** Reads `--allowed-unsafe-sysctls`: names, or beginnings that end with `*`. Throws an Error for the operator. */
export function parseUnsafeSysctls(given: readonly string[]): string[] {
  return given.map((text) => {
    if (text.length > 253 || !pattern.test(text)) {
      throw new Error(`"${text}" is not the name of a sysctl such as net.core.somaxconn or net.*`)
    }
    const name = withDots(text)
    if (namespaceOf(name.replace(/\*$/, '')) === undefined) {
      throw new Error(`the sysctl "${text}" is not known to be namespaced`)
    }
    return name
  })
}

/** Why the pod's sysctls are forbidden, in upstream's words; undefined when they are not. */
export function sysctlFault({ spec }: Pod, allowedUnsafe: readonly string[]): string | undefined {
  for (const { name: given } of spec?.securityContext?.sysctls ?? []) {
    const name = withDots(given)
    const isAllowed =
      safeSysctls.has(name) ||
      allowedUnsafe.some((one) =>
        one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one,
      )
    if (!isAllowed) return `forbidden sysctl: "${name}" not allowlisted`
    const namespace = namespaceOf(name)
    const isOfHost = namespace === 'ipc' ? spec?.hostIPC === true : spec?.hostNetwork === true
    if (isOfHost) return `forbidden sysctl: "${name}" not allowed with host ${namespace} enabled`
  }
  return undefined
}
