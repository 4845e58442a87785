/** The count of pending requests on the tab: in its title, its icon, and the app's icon. */
import { useEffect } from "react";
import { strings } from "@/strings";

export function titleOf(page: string, pending: number): string {
  const count = pending > 0 ? `(${pending}) ` : "";
  return `${count}${page} · ${strings.product}`;
}

function draw(icon: HTMLImageElement, pending: number): string | null {
  const canvas = document.createElement("canvas");
  canvas.width = 64;
  canvas.height = 64;
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.drawImage(icon, 0, 0, 64, 64);
  if (pending > 0) {
    const text = pending > 99 ? "99+" : String(pending);
    context.fillStyle = "#b0241c";
    context.beginPath();
    context.roundRect(64 - 18 - text.length * 11, 28, 18 + text.length * 11, 36, 14);
    context.fill();
    context.fillStyle = "#ffffff";
    context.font = "bold 28px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, 64 - (18 + text.length * 11) / 2, 47);
  }
  return canvas.toDataURL("image/png");
}

let icon: HTMLImageElement | null = null;

export function useTabBadge(page: string, pending: number): void {
  useEffect(() => {
    document.title = titleOf(page, pending);
  }, [page, pending]);
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    const apply = () => {
      if (!icon?.complete || icon.naturalWidth === 0 || !link) return;
      const href = draw(icon, pending);
      if (href) link.href = href;
    };
    if (icon) apply();
    else {
      icon = new Image();
      icon.onload = apply;
      icon.src = "/favicon.png";
    }
    const app = navigator as Navigator & { setAppBadge?(count: number): Promise<void> };
    app.setAppBadge?.(pending).catch(() => {});
  }, [pending]);
}
