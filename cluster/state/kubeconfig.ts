/** Kubeconfig: the client configurations a cluster's owner and components get. Merging into a user's own file is merge-kubeconfig.ts. */

export interface KubeconfigOptions {
  /** Names the cluster, the user and the context. */
  readonly name: string
  readonly server: string
  /** PEM text (embedded, so that the file can be copied elsewhere) or paths (so that a renewal needs no rewrite). */
  readonly authority: { readonly pem: string } | { readonly file: string }
  readonly credential:
    | { readonly certificatePem: string; readonly privateKeyPem: string }
    | { readonly certificateFile: string; readonly keyFile: string }
}

/** The structure of a kubeconfig as far as we write it. */
export interface Kubeconfig {
  readonly apiVersion: 'v1'
  readonly kind: 'Config'
  readonly clusters: readonly { name: string; cluster: Readonly<Record<string, string>> }[]
  readonly contexts: readonly { name: string; context: Readonly<Record<string, string>> }[]
  readonly users: readonly { name: string; user: Readonly<Record<string, string>> }[]
  readonly 'current-context': string
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

export function createKubeconfig(options: KubeconfigOptions): Kubeconfig {
  const { name, server, authority, credential } = options
  const cluster =
    'pem' in authority
      ? { 'certificate-authority-data': base64(authority.pem), server }
      : { 'certificate-authority': authority.file, server }
  const user =
    'certificatePem' in credential
      ? {
          'client-certificate-data': base64(credential.certificatePem),
          'client-key-data': base64(credential.privateKeyPem),
        }
      : {
          'client-certificate': credential.certificateFile,
          'client-key': credential.keyFile,
        }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user }],
    'current-context': name,
  }
}

/** The context that `skiff kubeconfig --merge` writes, and the names in a cluster's own file. */
export function contextName(clusterName: string): string {
  return `skiff-${clusterName}`
}

/** As YAML, in the order people know. A JSON string is a YAML string, so no YAML library is needed to write one. */
export function formatKubeconfig(config: Kubeconfig): string {
  const fields = (values: Readonly<Record<string, string>>): string =>
    Object.entries(values)
      .map(([key, value]) => `    ${key}: ${plainOrQuoted(value)}\n`)
      .join('')
  const lines = [`apiVersion: v1\nclusters:\n`]
  for (const { name, cluster } of config.clusters) {
    lines.push(`- cluster:\n${fields(cluster)}  name: ${plainOrQuoted(name)}\n`)
  }
  lines.push('contexts:\n')
  for (const { name, context } of config.contexts) {
    lines.push(`- context:\n${fields(context)}  name: ${plainOrQuoted(name)}\n`)
  }
  lines.push(`current-context: ${plainOrQuoted(config['current-context'])}\nkind: Config\n`)
  lines.push('preferences: {}\nusers:\n')
  for (const { name, user } of config.users) {
    lines.push(`- name: ${plainOrQuoted(name)}\n  user:\n${fields(user)}`)
  }
  return lines.join('')
}

/** Words of letters, digits and a few safe signs stand as they are; a number or anything else is quoted. */
function plainOrQuoted(text: string): string {
  return /^(?:[A-Za-z/][\w./:=+-]*|LS0t[\w+/=]*)$/.test(text) && !text.endsWith(':')
    ? text
    : JSON.stringify(text)
}
