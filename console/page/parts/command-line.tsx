/** CommandLine: a command to type, with a button that copies it. */
import { useEffect, useState } from 'preact/hooks'

const copiedMs = 2000

/** Browsers offer the clipboard to pages of this machine and over TLS; elsewhere there is no button. */
function CopyButton({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState<string>()
  useEffect(() => {
    if (copied === undefined) return undefined
    const timer = setTimeout(() => setCopied(undefined), copiedMs)
    return () => clearTimeout(timer)
  }, [copied])
  if (!window.isSecureContext) return null
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setCopied('Copied'),
      () => setCopied('Not copied'),
    )
  }
  return (
    <button type="button" onClick={copy}>
      <span aria-live="polite">{copied ?? 'Copy'}</span>
    </button>
  )
}

export function CommandLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="command-line">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </div>
  )
}
